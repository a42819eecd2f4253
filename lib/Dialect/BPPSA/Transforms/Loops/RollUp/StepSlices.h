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

/// Slices of an array, each at one position of `axis`. Positions start at `first` and are
/// `distance` apart.
struct StepSlices {
  mlir::Value source;
  int64_t axis, first, distance;
  /// True if the axis is dropped from the values.
  bool isCollapsed;
};

/// Returns the slice at one position that `value` is; nullopt for other values.
std::optional<StepSlices> getStepSlice(mlir::Value value);

/// Returns true if `value` is the slice at position `offset` of the array of `slices`.
bool isSliceAt(const StepSlices &slices, mlir::Value value, int64_t offset);

/// Returns the slices that `values`, two or more, are; nullopt if their positions are not
/// equidistant.
std::optional<StepSlices> getOrderedSlices(llvm::ArrayRef<mlir::Value> values);

/// Like `getOrderedSlices`, but replaces a reversed array with its source.
std::optional<StepSlices> getStepSlices(llvm::ArrayRef<mlir::Value> values);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPSLICES_H
