//===- GPULowering.h - lower tensors to GPU kernels -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COMPILER_PIPELINES_GPULOWERING_H
#define BPPSA_COMPILER_PIPELINES_GPULOWERING_H

#include "bppsa/Conversion/Passes.h"
#include "mlir/Pass/PassManager.h"

namespace bppsa {

/// With two, parameter gradients run on the second stream, as early as possible or as the cost
/// model decides.
enum class BackwardStreams { One, Two, TwoJoint };

/// Lowers tensors to one function per kernel, on memrefs.
void buildGPUOutliningPipeline(mlir::OpPassManager &pm);

/// Lowers outlined kernels to launches: the second half of buildGPUKernelPipeline().
void buildGPULaunchPipeline(mlir::OpPassManager &pm, TensorPrecision precision,
                            BackwardStreams streams = BackwardStreams::One);

/// Lowers tensors to host functions and a module `@device` of kernels on device memory. `precision`
/// applies to tensor core products.
void buildGPUKernelPipeline(mlir::OpPassManager &pm, TensorPrecision precision,
                            BackwardStreams streams = BackwardStreams::One);

void buildGPUCodePipeline(mlir::OpPassManager &pm);

void registerGPULoweringPipelines();

} // namespace bppsa

#endif // BPPSA_COMPILER_PIPELINES_GPULOWERING_H
