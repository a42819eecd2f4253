//===- StepSources.h - inputs of time loops ---------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPSOURCES_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPSOURCES_H

#include "../../../Codegen/GPU/Place.h"
#include "llvm/ADT/DenseMap.h"

namespace bppsa {

/// Maps arrays to their values in a kernel.
using KernelArrays = llvm::DenseMap<mlir::Value, mlir::Value>;
/// Declares at the beginning of a kernel that `arrays` do not alias: a step never writes an array
/// that it reads.
KernelArrays separateArrays(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange arrays);

/// The vectors that the steps of a loop read from arrays `[step, sample, row]`.
class StepSources {
public:
  /// Vectors are fetched with `stages` stages, or read directly from device memory if `stages` is
  /// 0.
  StepSources(mlir::Location loc, mlir::ValueRange sources, int64_t stages)
      : loc(loc), sources(sources), stages(stages) {}

  bool areFetched() const { return stages > 0; }
  /// Begins a time loop over `numSamples` samples. `arrays` maps the sources to their values in the
  /// kernel.
  void begin(mlir::OpBuilder &builder, const KernelArrays &arrays, mlir::Value numSamples);
  llvm::SmallVector<Place> getPlaces(mlir::OpBuilder &builder, mlir::Value step,
                                     mlir::Value sample) const;

private:
  mlir::Location loc;
  llvm::SmallVector<mlir::Value> sources;
  int64_t stages;

  // State of the emitted loop.
  llvm::SmallVector<mlir::Value> inKernel;
  /// Contiguous sources with steps and samples collapsed; null for other sources.
  llvm::SmallVector<mlir::Value> views;
  mlir::Value numSamples;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPSOURCES_H
