//===- BlockCyclicLayout.h - elements of a vector shared by threads ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_GPU_BLOCKCYCLICLAYOUT_H
#define BPPSA_LIB_CODEGEN_GPU_BLOCKCYCLICLAYOUT_H

#include "Launch.h"

namespace bppsa {

/// Distributes the elements of a vector over `parts` neighbouring threads: by fours, and the others
/// by two and one, so that few instructions load and store them. A thread has as many slots as
/// others.
class BlockCyclicLayout {
public:
  BlockCyclicLayout(int64_t count, int64_t parts) : count(count), parts(parts) {}

  int64_t getNumSlots() const { return llvm::divideCeil(count, parts); }

  /// The element in `slot` of thread `part`, which may be one beyond the last.
  mlir::Value getPlace(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value part,
                       int64_t slot) const;

  /// The same, with the last element in place of those beyond it, and whether it is not one of
  /// these; none where that holds for all threads.
  struct Element {
    mlir::Value index, exists;
  };
  Element getElement(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value part,
                     int64_t slot) const;

private:
  /// Thread n has element `n * width + first`.
  struct Places {
    int64_t width, first;
  };
  Places getPlaces(int64_t slot) const;

  int64_t count, parts;
};

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_GPU_BLOCKCYCLICLAYOUT_H
