//===- StepOutputs.h - where a loop writes its steps ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPOUTPUTS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPOUTPUTS_H

#include "../../../Codegen/GPU/Place.h"

namespace bppsa {

/// The places that a loop over steps writes to, in arrays `[step, sample, row]`.
///
/// Arrays without gaps whose vectors have as many rows share one index, which the loop over steps
/// carries. With an index of steps LLVM carries an address for each array, and the assembler moves
/// one after the other to registers that they share, each behind the wait for the store before.
class StepOutputs {
public:
  /// In the first `numShifted` of `arrays`, step n of the loop is vector n + 1.
  StepOutputs(mlir::Location loc, mlir::ValueRange arrays, size_t numShifted)
      : loc(loc), arrays(arrays), numShifted(numShifted) {}

  /// Begins the loop of steps `first`, `first + 1`, ... or, if `reverse`, `first`, `first - 1`, ...
  /// of `sample`, `count` in all, inside a launch. Returns what the loop carries.
  llvm::SmallVector<mlir::Value> begin(mlir::OpBuilder &builder, mlir::Value sample,
                                       mlir::Value first, mlir::Value count, bool reverse);
  /// The places of `step`, one for each array.
  llvm::SmallVector<Place> getPlaces(mlir::OpBuilder &builder, mlir::Value step,
                                     mlir::ValueRange carried) const;
  /// What the loop carries behind `position` of the loop.
  llvm::SmallVector<mlir::Value> advance(mlir::OpBuilder &builder, mlir::Value position,
                                         mlir::ValueRange carried) const;

private:
  mlir::Location loc;
  llvm::SmallVector<mlir::Value> arrays;
  size_t numShifted;

  // Of the loop that is emitted.
  mlir::Value sample, count;
  /// The elements of each array from its first vector of the loop on, and which of the carried
  /// indices it has; an array with gaps has neither.
  struct View {
    mlir::Value elements;
    size_t carried;
  };
  llvm::SmallVector<View> views;
  /// What takes each carried index to the next step.
  llvm::SmallVector<mlir::Value> strides;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPOUTPUTS_H
