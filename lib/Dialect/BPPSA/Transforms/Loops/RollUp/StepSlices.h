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

/// Slices of one array, each one position of `axis`, from position `first` on and `distance` apart.
struct StepSlices {
  mlir::Value source;
  int64_t axis, first, distance;
  /// Whether the values lack the axis.
  bool isCollapsed;
};

/// The slice of one position that `value` is, if it is one.
std::optional<StepSlices> getStepSlice(mlir::Value value);

/// Whether `value` is the slice at position `offset` of the array of `slices`.
bool isSliceAt(const StepSlices &slices, mlir::Value value, int64_t offset);

/// The slices that `values`, two or more, are; nothing if they are not equally far apart.
std::optional<StepSlices> getOrderedSlices(llvm::ArrayRef<mlir::Value> values);

/// As `getOrderedSlices`. Slices of an array in reverse order are slices of the array that it
/// reverses.
std::optional<StepSlices> getStepSlices(llvm::ArrayRef<mlir::Value> values);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPSLICES_H
