//===- SliceSums.h - accumulate slices into one sum -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_SLICESUMS_H
#define BPPSA_LIB_DIFFERENTIATION_SLICESUMS_H

#include "bppsa/Support/WrittenSlices.h"
#include "llvm/ADT/DenseMap.h"

namespace bppsa {

/// Tracks the sums of one reverse sweep that consist of slices inserted into zeros.
class SliceSums {
public:
  /// Inserts `slice` into `sum` if `sum` is known to be zero there.
  bool insert(mlir::Value slice, mlir::Value sum);

private:
  llvm::DenseMap<mlir::Value, WrittenSlices> sums;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_SLICESUMS_H
