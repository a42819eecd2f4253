//===- GPULowering.h - from tensors to kernels for GPUs ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COMPILER_PIPELINES_GPULOWERING_H
#define BPPSA_COMPILER_PIPELINES_GPULOWERING_H

#include "bppsa/Conversion/Passes.h"
#include "mlir/Pass/PassManager.h"

namespace bppsa {

/// What launches of backward passes run on (`--backward-streams`): one stream, or two, with
/// gradients of parameters on the second one, where they become possible or by the cost model.
enum class BackwardStreams { One, Two, TwoJoint };

/// From tensors to a function for each kernel, on memory.
void buildGPUOutliningPipeline(mlir::OpPassManager &pm);

/// From these to launches: the rest of the next one, with what they are mapped to already.
void buildGPULaunchPipeline(mlir::OpPassManager &pm, TensorPrecision precision,
                            BackwardStreams streams = BackwardStreams::One);

/// From tensors to functions of the host, which allocate and call launch functions,
/// and the module `@device` of kernels, on arrays in device memory; `precision` is that of products
/// on tensor cores.
void buildGPUKernelPipeline(mlir::OpPassManager &pm, TensorPrecision precision,
                            BackwardStreams streams = BackwardStreams::One);

/// From a module with `@device` to the LLVM dialect with NVVM operations in it.
void buildGPUCodePipeline(mlir::OpPassManager &pm);

/// Registers them as `bppsa-gpu-kernel-pipeline` and `bppsa-gpu-code-pipeline`.
void registerGPULoweringPipelines();

} // namespace bppsa

#endif // BPPSA_COMPILER_PIPELINES_GPULOWERING_H
