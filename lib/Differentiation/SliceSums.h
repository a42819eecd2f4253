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
  /// If `slice` is inserted into zeros and `sum` is known to be zero in that slice, inserts it into
  /// `sum` instead and returns true. `slice` is then the new sum.
  bool insert(mlir::Value slice, mlir::Value sum);

private:
  llvm::DenseMap<mlir::Value, WrittenSlices> sums;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_SLICESUMS_H
