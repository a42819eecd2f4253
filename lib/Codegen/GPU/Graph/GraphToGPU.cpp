//===- GraphToGPU.cpp - lower graph operations to launches ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "GraphToGPU.h"
#include "bppsa/Codegen/GPU/Passes.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

namespace bppsa {
#define GEN_PASS_DEF_CONVERTGRAPHTOGPU
#include "bppsa/Codegen/GPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static bool holdsLaunches(Operation &op) {
  return op.walk([](gpu::LaunchOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

static bool launchOp(Operation &op) {
  if (op.getNumResults() != 0 || holdsLaunches(op))
    return false;
  return llvm::TypeSwitch<Operation *, bool>(&op)
      .Case([](memref::CopyOp copy) { return launchCopy(copy), true; })
      .Case([](linalg::FillOp fill) { return !isFolded(fill) && (launchLinalg(fill), true); })
      .Case([](scf::ParallelOp loop) { return launchParallel(loop), true; })
      .Case([](scf::ForOp loop) { return launchSequential(loop), true; })
      .Case([](jacobian::SparseApplyOp product) { return launchSparseApply(product), true; })
      .Case([](jacobian::SparseComposeOp product) { return launchSparseCompose(product), true; })
      .Case([](jacobian::SparseOuterSumOp sum) { return launchSparseOuterSum(sum), true; })
      .Case([](linalg::LinalgOp graph) { return launchLinalg(graph), true; })
      .Default(false);
}

static bool accessesElements(Operation *op) {
  return isa<memref::LoadOp, memref::StoreOp, vector::LoadOp, vector::StoreOp,
             vector::TransferReadOp, vector::TransferWriteOp>(op);
}

static void sinkReads(func::FuncOp function) {
  SmallVector<Operation *> reads;
  for (Operation &op : function.getOps())
    if (!isa<gpu::LaunchOp>(op) &&
        (isa<memref::LoadOp, vector::LoadOp>(op) || isMemoryEffectFree(&op)) &&
        !op.hasTrait<OpTrait::IsTerminator>())
      reads.push_back(&op);
  SmallVector<gpu::LaunchOp> launches;
  function.walk([&](gpu::LaunchOp launch) { launches.push_back(launch); });
  for (gpu::LaunchOp launch : launches) {
    Operation *outer = function.front().findAncestorOpInBlock(*launch);
    OpBuilder builder = OpBuilder::atBlockBegin(&launch.getBody().front());
    IRMapping mapping;
    for (Operation *op : reads) {
      if (!op->isBeforeInBlock(outer))
        continue;
      Operation *copy = builder.clone(*op, mapping);
      for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
        from.replaceUsesWithIf(
            to, [&](OpOperand &use) { return launch->isProperAncestor(use.getOwner()); });
    }
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// `bppsa-outline-kernels` only puts independent copies into one kernel.
static void lowerCopies(func::FuncOp function) {
  SmallVector<memref::CopyOp> copies(function.getOps<memref::CopyOp>());
  if (copies.size() < 2)
    return;
  launchCopies(copies);
  for (memref::CopyOp copy : copies)
    copy.erase();
}

static void lowerKernel(func::FuncOp function) {
  lowerCopies(function);
  bool reads = llvm::any_of(function.getOps(), [](Operation &op) { return accessesElements(&op); });
  for (Operation &op : llvm::make_early_inc_range(function.getOps()))
    if (launchOp(op))
      op.erase();
  if (reads)
    sinkReads(function);
}

static LogicalResult verifyHost(func::FuncOp function) {
  WalkResult result = function.walk<WalkOrder::PreOrder>([](Operation *op) {
    if (isa<gpu::LaunchOp>(op))
      return WalkResult::skip();
    if (!accessesElements(op))
      return WalkResult::advance();
    refuseOp(op, "depends on elements of an array outside of any kernel, which a program for GPUs "
                 "cannot do; use --target=cpu");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct ConvertGraphToGPU : public bppsa::impl::ConvertGraphToGPUBase<ConvertGraphToGPU> {
  using ConvertGraphToGPUBase::ConvertGraphToGPUBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    if (function.isPrivate())
      lowerKernel(function);
    if (failed(verifyHost(function)))
      signalPassFailure();
  }
};
} // namespace
