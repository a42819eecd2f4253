//===- KernelStages.h - stages on the way to kernels of any target -*- C++ -*-===//
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

/// The pattern that compares each value that a loop carries with all others. MLIR has no other
/// handle for it than its name; unittests/Compiler/Pipelines fails where that is no longer the name
/// of one.
inline constexpr const char *kComparesCarriedValues =
    "(anonymous namespace)::RemoveDuplicateSuccessorInputUses";

/// The canonicalizer without what takes most of its time in kernels and large graphs: that pattern
/// and the simplification of regions, which have one block each.
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

/// Tensors to memory.
inline void addBufferization(mlir::OpPassManager &pm) {
  pm.addNestedPass<mlir::func::FuncOp>(createSeparateDestinations());
  pm.addNestedPass<mlir::func::FuncOp>(createFoldCoveredFills());
  pm.addPass(createPassResultsByArgument());
  pm.addPass(mlir::bufferization::createEmptyTensorEliminationPass());
  pm.addPass(createBufferize());
  pm.addNestedPass<mlir::func::FuncOp>(createFoldResultCopies());
  addCleanup(pm);
}

/// A function for each different loop: a kernel is compiled once, however many functions of the
/// program call it.
inline void addOutlining(mlir::OpPassManager &pm, const OutlineKernelsOptions &options) {
  pm.addPass(createOutlineKernels(options));
  pm.addPass(mlir::func::createDuplicateFunctionEliminationPass());
}

} // namespace bppsa

#endif // BPPSA_LIB_COMPILER_PIPELINES_KERNELSTAGES_H
