//===- BlockCyclicLayout.h - distribute vectors over threads ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_GPU_BLOCKCYCLICLAYOUT_H
#define BPPSA_LIB_CODEGEN_GPU_BLOCKCYCLICLAYOUT_H

#include "Launch.h"

namespace bppsa {

/// Distributes the elements of a vector over `parts` neighbouring threads: in groups of four, the
/// remainder in groups of two and one, to minimise the number of loads and stores.
class BlockCyclicLayout {
public:
  BlockCyclicLayout(int64_t count, int64_t parts) : count(count), parts(parts) {}

  int64_t getNumSlots() const { return llvm::divideCeil(count, parts); }

  /// Returns the index of the element in `slot` of thread `part`; it may be past the end.
  mlir::Value getPlace(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value part,
                       int64_t slot) const;

  /// `exists` is null if the index is valid for all threads.
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

#endif
