//===- CPULowering.cpp - lower tensors to LLVM IR for CPUs ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Compiler/Pipelines/CPULowering.h"
#include "KernelStages.h"
#include "bppsa/Codegen/CPU/Passes.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/GraphBodies/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include <limits>

using namespace mlir;
using namespace bppsa;

void bppsa::buildKernelPipeline(OpPassManager &pm, const CPULoweringOptions &options) {
  pm.addPass(createLowerGraphBodies({options.memoryLimit}));
  pm.addNestedPass<func::FuncOp>(createFuseElementwise());
  addCleanup(pm);
  pm.addNestedPass<func::FuncOp>(createChooseCPUMapping({options.lanes}));
  SeparateProductsOptions separated;
  // A product over all steps cannot be part of a segment.
  if (options.memoryLimit > 0)
    separated.ofSamples = std::numeric_limits<int64_t>::max();
  pm.addNestedPass<func::FuncOp>(createSeparateProducts(separated));
  pm.addNestedPass<func::FuncOp>(createPackBatch());
  addCleanup(pm);
  if (!options.keepsGradientOrder)
    pm.addNestedPass<func::FuncOp>(createFuseInjected());
  if (options.memoryLimit > 0) {
    pm.addPass(createRecomputeSteps({options.memoryLimit}));
    addCleanup(pm);
  }
  pm.addNestedPass<func::FuncOp>(createInferStructure({/*batchAxis=*/0, /*loopsOnly=*/true}));
  pm.addPass(createExpandScan({/*unrollUpTo=*/0, options.factorLinks, /*wholeLevels=*/false}));
  pm.addNestedPass<func::FuncOp>(createTransposeCaptures());
  addCleanup(pm);
  addBufferization(pm);
  pm.addPass(createSeparateBackward());
  pm.addNestedPass<func::FuncOp>(createBlockTime());
  pm.addNestedPass<func::FuncOp>(createJoinEmitted());
  pm.addNestedPass<func::FuncOp>(createBlockSteps());
  pm.addNestedPass<func::FuncOp>(createBlockRows());
  // Gradients of a single block must not be exchanged with other ranks.
  if (!options.keepsGradientOrder && !options.signalsGradients)
    pm.addNestedPass<func::FuncOp>(createBlockChains());
  pm.addNestedPass<func::FuncOp>(createLowerLargeSums());
  pm.addNestedPass<func::FuncOp>(createChooseTaskMapping());
  addOutlining(pm,
               {/*groupSums=*/false, /*groupCopies=*/false, /*groupFills=*/true, /*anyWindow=*/true,
                /*wholeLevels=*/false});
  OverlapTimeLoopsOptions overlap;
  overlap.sums = !options.keepsGradientOrder;
  pm.addPass(createOverlapTimeLoops(overlap));
  if (options.signalsGradients)
    pm.addPass(createSignalGradients());
  pm.addPass(createVerifyExchanges());
  pm.addNestedPass<func::FuncOp>(createVerifyUpdates());
  // Runs last because the passes before it identify loops by their calls.
  pm.addPass(createMergeDirections());
  pm.addNestedPass<func::FuncOp>(createChooseProductMapping());
}

void bppsa::buildCPUCodePipeline(OpPassManager &pm, const CPULoweringOptions &options) {
  pm.addNestedPass<func::FuncOp>(createForallToParallelLoopPass());
  pm.addPass(createConvertBPPSAToVector({options.registers}));
  pm.addPass(createPackProducts({options.registers}));
  pm.addPass(createVectorizeContractions({options.registers}));
  pm.addNestedPass<func::FuncOp>(createTileTransposes({options.registers}));
  pm.addNestedPass<func::FuncOp>(createCollapseLoops());
  pm.addNestedPass<func::FuncOp>(createVectorizeSums({options.registers}));
  pm.addNestedPass<func::FuncOp>(createVectorizeRows({options.registers}));
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createExpandMath());
  addCleanup(pm);
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addNestedPass<func::FuncOp>(createFuseMultiplyAdds());

  pm.addPass(createConvertParallelToRuntime());
  pm.addPass(createExpandReshapes());
  pm.addPass(createExpandViews());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createLowerVectors());
  pm.addPass(createLowerMath());
  pm.addPass(createUnpackDescriptors());
  FinalizeMemRefToLLVMConversionPassOptions memory;
  memory.useGenericFunctions = memory.useAlignedAlloc = true;
  pm.addPass(createFinalizeMemRefToLLVMConversionPass(memory));
  pm.addPass(createResolveWords());
  // One pass for the remaining dialects is several times faster than one per dialect.
  ConvertToLLVMPassOptions rest;
  rest.filterDialects = {"func", "arith", "cf", "index", "math", "ub"};
  pm.addPass(createConvertToLLVMPass(rest));
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void bppsa::buildCPULoweringPipeline(OpPassManager &pm, const CPULoweringOptions &options) {
  buildKernelPipeline(pm, options);
  buildCPUCodePipeline(pm, options);
}

void bppsa::registerCPULoweringPipeline() {
  PassPipelineRegistration<CPULoweringOptions>("bppsa-cpu-pipeline",
                                               "from tensors and bppsa loops to LLVM IR for CPUs",
                                               buildCPULoweringPipeline);
}
