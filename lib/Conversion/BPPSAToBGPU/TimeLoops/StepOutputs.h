//===- StepOutputs.h - outputs of time loops --------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPOUTPUTS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPOUTPUTS_H

#include "../../../Codegen/GPU/Place.h"

namespace bppsa {

/// The output locations of a time loop in arrays `[step, sample, row]`.
///
/// Contiguous arrays with vectors of equal length share one index, which the loop carries. If
/// outputs were indexed by step, LLVM would carry an address per array. ptxas then moves these
/// addresses to the same two registers one after the other, and each move waits for the previous
/// store.
class StepOutputs {
public:
  /// In the first `numShifted` arrays, step n is stored as vector n + 1.
  StepOutputs(mlir::Location loc, mlir::ValueRange arrays, size_t numShifted)
      : loc(loc), arrays(arrays), numShifted(numShifted) {}

  /// Begins a loop over `count` steps of `sample`, starting at `first` and ascending, or descending
  /// if `reverse`. Returns the values that the loop carries.
  llvm::SmallVector<mlir::Value> begin(mlir::OpBuilder &builder, mlir::Value sample,
                                       mlir::Value first, mlir::Value count, bool reverse);
  llvm::SmallVector<Place> getPlaces(mlir::OpBuilder &builder, mlir::Value step,
                                     mlir::ValueRange carried) const;
  /// Returns the carried values after `position` of the loop.
  llvm::SmallVector<mlir::Value> advance(mlir::OpBuilder &builder, mlir::Value position,
                                         mlir::ValueRange carried) const;

private:
  mlir::Location loc;
  llvm::SmallVector<mlir::Value> arrays;
  size_t numShifted;

  // State of the emitted loop.
  mlir::Value sample, count;
  /// The elements of a contiguous array from its first vector on, and the position of its carried
  /// index. Both are unset for other arrays.
  struct View {
    mlir::Value elements;
    size_t carried;
  };
  llvm::SmallVector<View> views;
  /// The increment of each carried index per step.
  llvm::SmallVector<mlir::Value> strides;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPOUTPUTS_H
