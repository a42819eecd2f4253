//===- SliceSums.h - slices that are written into one sum -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_SLICESUMS_H
#define BPPSA_LIB_DIFFERENTIATION_SLICESUMS_H

#include "bppsa/Support/WrittenSlices.h"
#include "llvm/ADT/DenseMap.h"

namespace bppsa {

/// The sums of one reverse sweep that are slices written into zeros.
class SliceSums {
public:
  /// Where `slice` is written into zeros and `sum` is known to be zero at that place, writes it
  /// into `sum` instead and returns true: `slice` is the new sum then.
  bool insert(mlir::Value slice, mlir::Value sum);

private:
  llvm::DenseMap<mlir::Value, WrittenSlices> sums;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_SLICESUMS_H
