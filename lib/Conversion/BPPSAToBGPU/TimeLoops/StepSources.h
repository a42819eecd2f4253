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
/// Declares that `arrays` do not alias: a step never writes an array that it reads.
KernelArrays separateArrays(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange arrays);

/// Reads the vectors of steps from `[step, sample, row]`.
class StepSources {
public:
  /// If `stages` is 0, steps read directly from device memory.
  StepSources(mlir::Location loc, mlir::ValueRange sources, int64_t stages)
      : loc(loc), sources(sources), stages(stages) {}

  bool areFetched() const { return stages > 0; }
  void begin(mlir::OpBuilder &builder, const KernelArrays &arrays, mlir::Value numSamples);
  llvm::SmallVector<Place> getPlaces(mlir::OpBuilder &builder, mlir::Value step,
                                     mlir::Value sample) const;

private:
  mlir::Location loc;
  llvm::SmallVector<mlir::Value> sources;
  int64_t stages;

  llvm::SmallVector<mlir::Value> inKernel;
  /// Sources with steps and samples collapsed; null if not contiguous.
  llvm::SmallVector<mlir::Value> views;
  mlir::Value numSamples;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPSOURCES_H
