//===- BPPSAToGPU.cpp - bufferized kernels to launches --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BPPSAToGPU.h"
#include "../Bodies/PhaseCalls.h"
#include "Launch.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSADirection.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace bppsa {
#define GEN_PASS_DEF_CONVERTBPPSATOGPU
#include "bppsa/Conversion/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

LogicalResult bppsa::verifyReady(Operation *op) {
  if (op->getNumResults() != 0)
    return op->emitOpError("works on tensors; run bppsa-bufferize first");
  if (auto packable = dyn_cast<PackableOpInterface>(op); packable && packable.getLanes())
    return op->emitOpError("has lanes, which a GPU has no use for; leave bppsa-pack-batch out");
  return success();
}

size_t bppsa::countTogether(ArrayRef<Operation *> ops) {
  auto first = dyn_cast<OuterSumOp>(ops[0]);
  size_t count = 1;
  for (; first && count < ops.size(); ++count) {
    auto next = dyn_cast<OuterSumOp>(ops[count]);
    if (!next || next.getRhs() != first.getRhs() || next->getPrevNode() != ops[count - 1])
      break;
  }
  return count;
}

/// Checks that `op`, and what a loop over transitions holds, are mapped to kernels.
static LogicalResult verifyMapped(Operation *op) {
  auto isMapped = [](Operation *inner) {
    return !isa<RecurrenceOp, ChainOp, TransitionOp, OuterSumOp>(inner) || getMapping(inner);
  };
  WalkResult result = op->walk([&](Operation *inner) {
    if (isMapped(inner))
      return WalkResult::advance();
    inner->emitOpError("has no mapping to a GPU; run bppsa-choose-gpu-mapping first");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult launchChain(ChainOp op) {
  PlanAttr plan = op.getPlan();
  if (!plan.isSequential())
    return op->emitOpError("has the plan ")
           << plan.toString() << "; run bppsa-expand-scan with whole-levels first";
  if (op.getFlatSums())
    return op->emitOpError("has flat_sums, but is no part of a parallel loop; leave it out");
  return launchSequentially(getCotangentLoop(op));
}

template <typename OpTy> static bool holds(Operation *loop) {
  return loop->walk([](OpTy) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Emits the launches of an operation, or of several that are launched together.
static LogicalResult launchOps(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    if ((!isa<scf::ForOp, scf::ForallOp, scf::ParallelOp>(op) && failed(verifyReady(op))) ||
        failed(verifyMapped(op)))
      return failure();
  auto launch = [](auto emit) {
    emit();
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(ops[0])
      .Case([&](RecurrenceOp loop) { return launchRecurrence(loop); })
      .Case([&](ChainOp loop) { return launchChain(loop); })
      .Case([&](OuterSumOp) {
        auto sums = llvm::map_to_vector(ops, [](Operation *op) { return cast<OuterSumOp>(op); });
        return launchOuterSums(sums);
      })
      .Case([&](StepSumOp leaf) { return launch([&] { launchStepSum(leaf); }); })
      .Case([&](SparseApplyOp product) { return launch([&] { launchSparseApply(product); }); })
      .Case([&](SparseComposeOp product) { return launch([&] { launchSparseCompose(product); }); })
      .Case([&](SparseOuterSumOp sum) { return launch([&] { launchSparseOuterSum(sum); }); })
      .Case([&](ReduceSumsOp sums) { return launch([&] { launchReduceSums(sums); }); })
      .Case([&](memref::CopyOp copy) { return launch([&] { launchCopy(copy); }); })
      .Case([&](scf::ParallelOp loop) { return launch([&] { launchParallel(loop); }); })
      .Case([&](scf::ForallOp loop) {
        if (holds<TransitionOp>(loop))
          return launchTransitions(loop);
        return holds<ChainOp>(loop) ? launchChains(loop) : launchRows(loop);
      })
      .Case([&](scf::ForOp loop) {
        return holds<ApplyTransitionOp>(loop) ? launchRows(loop)
                                              : launch([&] { launchSequential(loop); });
      })
      .Case([&](linalg::LinalgOp graph) { return launch([&] { launchLinalg(graph); }); })
      .Default([](Operation *other) {
        return other->emitOpError("has no kernels for GPUs; use --target=cpu");
      });
}

/// Operations that write arrays; loops with results only compute numbers.
static bool becomesLaunch(Operation &op) {
  return op.getNumResults() == 0 &&
         isa<RecurrenceOp, ChainOp, OuterSumOp, StepSumOp, ReduceSumsOp, PackLanesOp, UnpackLanesOp,
             SparseApplyOp, SparseComposeOp, SparseOuterSumOp, ReverseIfOp, linalg::LinalgOp,
             memref::CopyOp, scf::ForOp, scf::ForallOp, scf::ParallelOp>(op);
}

/// Whether `op` touches elements of arrays, which are in device memory.
static bool accessesElements(Operation *op) {
  return isa<memref::LoadOp, memref::StoreOp, vector::LoadOp, vector::StoreOp,
             vector::TransferReadOp, vector::TransferWriteOp>(op);
}

/// Copies what `function` reads of arrays before a launch into the launch.
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

/// Gives `function` launches for what it holds.
static LogicalResult lowerKernel(func::FuncOp function) {
  SmallVector<Operation *> ops;
  bool reads = false;
  for (Operation &op : function.getOps()) {
    reads |= accessesElements(&op);
    if (becomesLaunch(op))
      ops.push_back(&op);
  }
  for (ArrayRef<Operation *> rest = ops; !rest.empty();) {
    ArrayRef<Operation *> together = rest.take_front(countTogether(rest));
    if (failed(launchOps(together)))
      return failure();
    for (Operation *op : together)
      op->erase();
    rest = rest.drop_front(together.size());
  }
  if (reads)
    sinkReads(function);
  return success();
}

/// Copies constant arrays, which the host has, to device memory, by a kernel that
/// has them too.
static void copyConstants(func::FuncOp function) {
  SmallVector<memref::GetGlobalOp> globals(function.getOps<memref::GetGlobalOp>());
  for (memref::GetGlobalOp global : globals) {
    Location loc = global.getLoc();
    OpBuilder builder(global);
    Value copy = memref::AllocOp::create(builder, loc, global.getType(), ValueRange(),
                                         builder.getI64IntegerAttr(64));
    global.replaceAllUsesWith(copy);
    Value count = getIndex(builder, loc, global.getType().getNumElements());
    SmallVector<Value> sizes;
    for (int64_t size : global.getType().getShape())
      sizes.push_back(getIndex(builder, loc, size));
    emitForEachThread(builder, loc, count, [&](OpBuilder &nested, Value number) {
      SmallVector<Value> at = splitIndex(nested, loc, number, sizes);
      Value source = memref::GetGlobalOp::create(nested, loc, global.getType(), global.getName());
      Value value = memref::LoadOp::create(nested, loc, source, at);
      memref::StoreOp::create(nested, loc, value, copy, at);
    });
    builder.setInsertionPoint(function.front().getTerminator());
    memref::DeallocOp::create(builder, loc, copy);
    global.erase();
  }
}

/// Numbers that the host has computed and an array holds, such as a size: a thread
/// writes them.
static void launchStores(func::FuncOp function) {
  SmallVector<memref::StoreOp> stores(function.getOps<memref::StoreOp>());
  for (memref::StoreOp store : stores) {
    OpBuilder builder(store);
    Location loc = store.getLoc();
    emitForEachThread(builder, loc, getIndex(builder, loc, 1),
                      [&](OpBuilder &nested, Value) { nested.clone(*store); });
    store.erase();
  }
}

/// The host may not touch elements of arrays.
static LogicalResult verifyHost(func::FuncOp function) {
  WalkResult result = function.walk<WalkOrder::PreOrder>([](Operation *op) {
    if (isa<gpu::LaunchOp>(op))
      return WalkResult::skip();
    if (!accessesElements(op))
      return WalkResult::advance();
    op->emitOpError("depends on elements of an array outside of any kernel, which a program for "
                    "GPUs cannot do; use --target=cpu");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Equal loops of several nodes of a model share a kernel, which has the location of one of them:
/// gives it those of all. The calls have the locations of the loops that were there.
static void fuseLocations(ModuleOp module) {
  llvm::MapVector<StringAttr, SetVector<Location>> callers;
  module.walk(
      [&](func::CallOp call) { callers[call.getCalleeAttr().getAttr()].insert(call.getLoc()); });
  for (auto &[name, locations] : callers) {
    auto kernel = module.lookupSymbol<func::FuncOp>(name);
    if (!kernel || !kernel.isPrivate())
      continue;
    Location own = kernel.getLoc();
    Location all = FusedLoc::get(module.getContext(), locations.getArrayRef());
    kernel.walk([&](Operation *op) {
      if (op->getLoc() == own)
        op->setLoc(all);
    });
  }
}

namespace {
struct ConvertBPPSAToGPU : public bppsa::impl::ConvertBPPSAToGPUBase<ConvertBPPSAToGPU> {
  using ConvertBPPSAToGPUBase::ConvertBPPSAToGPUBase;

  void runOnOperation() override {
    fuseLocations(getOperation());
    lowerPhaseMarks(getOperation());
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      if (function.isExternal())
        continue;
      copyConstants(function);
      if (!function.isPrivate())
        launchStores(function);
      if ((function.isPrivate() && failed(lowerKernel(function))) || failed(verifyHost(function)))
        return signalPassFailure();
    }
  }
};
} // namespace
