//===- GPULowering.cpp - lower tensors to GPU kernels ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Compiler/Pipelines/GPULowering.h"
#include "KernelStages.h"
#include "bppsa/Codegen/CPU/Passes.h"
#include "bppsa/Codegen/GPU/Passes.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BGPU/Transforms/Mapping/Passes.h"
#include "bppsa/Dialect/BGPU/Transforms/Passes.h"
#include "bppsa/Dialect/BGPU/Transforms/Streams/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/BackwardOrder/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/GraphBodies/Passes.h"
#include "bppsa/Dialect/Dist/Transforms/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace bppsa;

void bppsa::buildGPUOutliningPipeline(OpPassManager &pm) {
  // The host runs time loops in graph form: each of their operations is a launch for the whole
  // batch.
  pm.addPass(createLowerGraphBodies({/*memoryLimit=*/0, /*rowBlocks=*/false}));
  pm.addNestedPass<func::FuncOp>(createFuseElementwise({/*recompute=*/true}));
  addCleanup(pm);
  pm.addNestedPass<func::FuncOp>(createMergeProducts());
  pm.addNestedPass<func::FuncOp>(createFuseGradients());
  pm.addNestedPass<func::FuncOp>(createInferStructure({/*batchAxis=*/0, /*loopsOnly=*/true}));
  pm.addPass(createExpandScan({/*unrollUpTo=*/0, /*factorLinks=*/false, /*wholeLevels=*/true}));
  addCleanup(pm);
  addBufferization(pm);
  pm.addPass(createSeparateBackward({/*keepNumbers=*/false, /*clearUnwritten=*/false}));
  pm.addNestedPass<func::FuncOp>(createSinkReads());
  addOutlining(pm,
               {/*groupSums=*/true, /*groupCopies=*/true, /*groupFills=*/true, /*anyWindow=*/false,
                /*wholeLevels=*/true});
}

void bppsa::buildGPULaunchPipeline(OpPassManager &pm, TensorPrecision precision,
                                   BackwardStreams streams) {
  pm.addNestedPass<func::FuncOp>(createHoistInputProducts());
  pm.addNestedPass<func::FuncOp>(createChooseGPUMapping({precision}));
  pm.addNestedPass<func::FuncOp>(createCopyConstants());
  if (streams != BackwardStreams::One) {
    AssignStreamsOptions assign;
    assign.joint = streams == BackwardStreams::TwoJoint;
    pm.addPass(createAssignStreams(assign));
    pm.addPass(createVerifyStreams());
  }
  pm.addPass(createConvertBPPSAToBGPU());
  pm.addNestedPass<func::FuncOp>(bgpu::createStageCopies());
  pm.addNestedPass<func::FuncOp>(bgpu::createAllocateShared());
  pm.addNestedPass<func::FuncOp>(bgpu::createInsertBarriers());
  pm.addNestedPass<func::FuncOp>(createConvertBGPUToGPU());
  pm.addNestedPass<func::FuncOp>(createConvertGraphToGPU());
  pm.addPass(createExpandMath({/*reciprocals=*/true}));
  addCleanup(pm);
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addNestedPass<func::FuncOp>(createFuseMultiplyAdds());
  // Prevents constants from becoming kernel arguments.
  pm.addNestedPass<func::FuncOp>(createGpuLaunchSinkIndexComputationsPass());
  pm.addPass(createGpuKernelOutliningPass());
  pm.addPass(createMergeKernels());
  pm.addPass(createConvertGPULaunchToCall());
  pm.addPass(createPlanArena());
  pm.addPass(createConvertStreamsToRuntime());
  addCleanup(pm.nest<func::FuncOp>());
}

void bppsa::buildGPUKernelPipeline(OpPassManager &pm, TensorPrecision precision,
                                   BackwardStreams streams) {
  buildGPUOutliningPipeline(pm);
  buildGPULaunchPipeline(pm, precision, streams);
}

void bppsa::buildGPUCodePipeline(OpPassManager &pm) {
  pm.addPass(createExpandReshapes());
  pm.addPass(createExpandViews());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  OpPassManager &device = pm.nest<gpu::GPUModuleOp>();
  device.addPass(createConvertDeviceToNVVM());
  addCleanup(device);
  device.addPass(createReconcileUnrealizedCastsPass());
}

void bppsa::registerGPULoweringPipelines() {
  PassPipelineRegistration<>(
      "bppsa-gpu-kernel-pipeline", "from tensors and bppsa loops to launches and kernels",
      [](OpPassManager &pm) { buildGPUKernelPipeline(pm, TensorPrecision::FP32); });
  PassPipelineRegistration<>("bppsa-gpu-code-pipeline", "from kernels to the NVVM dialect",
                             buildGPUCodePipeline);
}
