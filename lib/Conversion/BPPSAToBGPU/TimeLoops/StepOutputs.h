//===- StepOutputs.h - outputs of time loops --------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPOUTPUTS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPOUTPUTS_H

#include "../../../Codegen/GPU/Place.h"

namespace bppsa {

/// Outputs in arrays `[step, sample, row]`. Contiguous arrays with equal vectors share a carried
/// index. Otherwise LLVM carries an address per array, which ptxas moves through two registers and
/// waits for each store.
class StepOutputs {
public:
  /// In the first `numShifted` arrays, step n is vector n + 1.
  StepOutputs(mlir::Location loc, mlir::ValueRange arrays, size_t numShifted)
      : loc(loc), arrays(arrays), numShifted(numShifted) {}

  /// Begins a loop of `count` steps from `first`, descending if `reverse`. Returns the carried
  /// values.
  llvm::SmallVector<mlir::Value> begin(mlir::OpBuilder &builder, mlir::Value sample,
                                       mlir::Value first, mlir::Value count, bool reverse);
  llvm::SmallVector<Place> getPlaces(mlir::OpBuilder &builder, mlir::Value step,
                                     mlir::ValueRange carried) const;
  llvm::SmallVector<mlir::Value> advance(mlir::OpBuilder &builder, mlir::Value position,
                                         mlir::ValueRange carried) const;

private:
  mlir::Location loc;
  llvm::SmallVector<mlir::Value> arrays;
  size_t numShifted;

  mlir::Value sample, count;
  /// Elements from the first vector on, and position of the carried index; unset for other arrays.
  struct View {
    mlir::Value elements;
    size_t carried;
  };
  llvm::SmallVector<View> views;
  /// Increment of each carried index per step.
  llvm::SmallVector<mlir::Value> strides;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPOUTPUTS_H
