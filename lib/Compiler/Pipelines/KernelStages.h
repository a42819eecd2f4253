//===- KernelStages.h - pipeline stages shared by all targets ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_COMPILER_PIPELINES_KERNELSTAGES_H
#define BPPSA_LIB_COMPILER_PIPELINES_KERNELSTAGES_H

#include "bppsa/Codegen/CPU/Kernels/Passes.h"
#include "bppsa/Dialect/BGPU/Transforms/Streams/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/BackwardOrder/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Scan/Passes.h"
#include "bppsa/Dialect/Dist/Transforms/Passes.h"
#include "bppsa/Dialect/Jacobian/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace bppsa {

/// MLIR identifies the pattern only by its name; unittests/Compiler/Pipelines fails if the name
/// changes.
inline constexpr const char *kComparesCarriedValues =
    "(anonymous namespace)::RemoveDuplicateSuccessorInputUses";

/// Omits the two most expensive parts: the pattern above, and region simplification, which has no
/// effect on single-block regions.
inline std::unique_ptr<mlir::Pass> createKernelCanonicalizer() {
  mlir::GreedyRewriteConfig config;
  config.setUseTopDownTraversal();
  config.setRegionSimplificationLevel(mlir::GreedySimplifyRegionLevel::Disabled);
  return mlir::createCanonicalizerPass(config, /*disabledPatterns=*/{kComparesCarriedValues});
}

inline void addCleanup(mlir::OpPassManager &pm) {
  pm.addPass(createKernelCanonicalizer());
  pm.addPass(mlir::createCSEPass());
}

inline void addBufferization(mlir::OpPassManager &pm) {
  pm.addNestedPass<mlir::func::FuncOp>(createSeparateDestinations());
  pm.addNestedPass<mlir::func::FuncOp>(createFoldCoveredFills());
  pm.addPass(createPassResultsByArgument());
  pm.addPass(mlir::bufferization::createEmptyTensorEliminationPass());
  pm.addPass(createBufferize());
  pm.addNestedPass<mlir::func::FuncOp>(createFoldResultCopies());
  addCleanup(pm);
}

inline void addOutlining(mlir::OpPassManager &pm, const OutlineKernelsOptions &options) {
  pm.addPass(createOutlineKernels(options));
  pm.addPass(mlir::func::createDuplicateFunctionEliminationPass());
}

} // namespace bppsa

#endif // BPPSA_LIB_COMPILER_PIPELINES_KERNELSTAGES_H
