//===- StepSources.h - the vectors that steps read --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPSOURCES_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPSOURCES_H

#include "../../../Codegen/GPU/Place.h"
#include "llvm/ADT/DenseMap.h"

namespace bppsa {

/// Arrays that a kernel uses, as it knows them.
using KernelArrays = llvm::DenseMap<mlir::Value, mlir::Value>;
/// Makes `arrays` known as apart from each other, at the beginning of a kernel: a step writes none
/// that it reads.
KernelArrays separateArrays(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange arrays);

/// The vectors that the steps of a loop read of arrays `[step, sample, row]`.
class StepSources {
public:
  /// They are fetched with so many `stages`; with 0 they are read where they are.
  StepSources(mlir::Location loc, mlir::ValueRange sources, int64_t stages)
      : loc(loc), sources(sources), stages(stages) {}

  bool areFetched() const { return stages > 0; }
  /// Begins the loop over steps of so many samples, in a kernel that knows the sources as `arrays`.
  void begin(mlir::OpBuilder &builder, const KernelArrays &arrays, mlir::Value numSamples);
  /// The vectors of `step` of `sample`, one for each source.
  llvm::SmallVector<Place> getPlaces(mlir::OpBuilder &builder, mlir::Value step,
                                     mlir::Value sample) const;

private:
  mlir::Location loc;
  llvm::SmallVector<mlir::Value> sources;
  int64_t stages;

  // Of the loop that is emitted.
  llvm::SmallVector<mlir::Value> inKernel;
  /// Sources as arrays of vectors, one for each step and sample; null for those with gaps.
  llvm::SmallVector<mlir::Value> views;
  mlir::Value numSamples;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPSOURCES_H
