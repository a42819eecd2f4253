//===- StepSlices.h - slices that steps read --------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPSLICES_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPSLICES_H

#include "mlir/IR/Value.h"
#include "mlir/Support/LLVM.h"
#include <optional>

namespace bppsa {

/// Slices at single positions of `axis`, from `first` on, `distance` apart.
struct StepSlices {
  mlir::Value source;
  int64_t axis, first, distance;
  /// The axis is dropped from the values.
  bool isCollapsed;
};

/// Returns nullopt if `value` is not a slice at one position.
std::optional<StepSlices> getStepSlice(mlir::Value value);

bool isSliceAt(const StepSlices &slices, mlir::Value value, int64_t offset);

/// Requires two or more `values`. Returns nullopt if positions are not equidistant.
std::optional<StepSlices> getOrderedSlices(llvm::ArrayRef<mlir::Value> values);

/// Also replaces a reversed array with its source.
std::optional<StepSlices> getStepSlices(llvm::ArrayRef<mlir::Value> values);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPSLICES_H
