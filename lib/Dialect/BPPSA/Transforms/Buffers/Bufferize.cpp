//===- Bufferize.cpp - bufferizes a module --------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SizeFormulas.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/ResultsByArgument.h"
#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferUtils.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

namespace bppsa {
#define GEN_PASS_DEF_BUFFERIZE
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Returns null if the memory outlives its block.
static Operation *getLastUser(memref::AllocOp allocation) {
  Operation *last = allocation;
  SmallVector<Value> worklist = {allocation.getMemref()};
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      Operation *inBlock = allocation->getBlock()->findAncestorOpInBlock(*user);
      if (!inBlock || user->hasTrait<OpTrait::IsTerminator>())
        return nullptr;
      if (last->isBeforeInBlock(inBlock))
        last = inBlock;
      for (Value result : user->getResults())
        if (isa<BaseMemRefType>(result.getType()))
          worklist.push_back(result);
    }
  return last;
}

static void forwardMemory(scf::IfOp op) {
  if (op.getNumResults() == 0)
    return;
  for (auto [result, first, second] :
       llvm::zip_equal(op.getResults(), op.thenYield().getResults(), op.elseYield().getResults()))
    if (first == second && isa<MemRefType>(result.getType()))
      result.replaceAllUsesWith(first);
}

/// Creates the globals of constants in module order. Bufferization visits functions in the order of
/// their addresses, and would number the globals differently in each run.
static LogicalResult createGlobals(ModuleOp module, uint64_t alignment) {
  SymbolTableCollection symbols;
  auto visit = [&](arith::ConstantOp constant) -> WalkResult {
    if (!isa<RankedTensorType>(constant.getType()))
      return WalkResult::advance();
    return LogicalResult(bufferization::getGlobalFor(constant, symbols, alignment));
  };
  return failure(module.walk(visit).wasInterrupted());
}

/// Values computed in place leave such copies.
static void eraseSelfCopies(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  DominanceInfo dominance(module);
  eliminateCommonSubExpressions(rewriter, dominance, module);
  module.walk(forwardMemory);
  module.walk([](memref::CopyOp op) {
    if (op.getSource() == op.getTarget())
      op.erase();
  });
}

static constexpr int64_t kMaxStackBytes = 65536;

/// Returns null if a loop around `op` is parallel.
static scf::ForOp getSequentialLoop(Operation *op) {
  scf::ForOp outermost;
  for (Operation *parent = op->getParentOp(); !isa<func::FuncOp>(parent);
       parent = parent->getParentOp()) {
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop)
      return {};
    outermost = loop;
  }
  return outermost;
}

/// Moves small allocations in parallel loops to the stack. The stack would grow in sequential
/// loops, so allocations are hoisted out of them.
static void moveToStack(ModuleOp module) {
  module.walk([](memref::AllocOp op) {
    MemRefType type = op.getType();
    if (isa<func::FuncOp>(op->getParentOp()) || !type.hasStaticShape() ||
        getFixedBytes(type) > kMaxStackBytes)
      return;
    if (scf::ForOp loop = getSequentialLoop(op)) {
      if (getLastUser(op))
        op->moveBefore(loop);
      return;
    }
    OpBuilder builder(op);
    Value memory = memref::AllocaOp::create(builder, op.getLoc(), type, op.getAlignmentAttr());
    op.replaceAllUsesWith(memory);
    op.erase();
  });
}

/// Deallocations that come from tensors do not match buffer lifetimes.
static void eraseDeallocations(ModuleOp module) {
  module.walk([](memref::DeallocOp op) { op.erase(); });
}

/// Returns false without changes if an allocation outlives its block.
static bool freeAfterLastUses(ModuleOp module) {
  SmallVector<std::pair<memref::AllocOp, Operation *>> allocations;
  WalkResult outlived = module.walk([&](memref::AllocOp op) {
    allocations.emplace_back(op, getLastUser(op));
    return allocations.back().second ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (outlived.wasInterrupted())
    return false;
  for (auto [allocation, last] : allocations) {
    OpBuilder builder(last->getContext());
    builder.setInsertionPointAfter(last);
    memref::DeallocOp::create(builder, allocation.getLoc(), allocation);
  }
  return true;
}

/// Bodies in graph form are still on tensors, and each link must have one of its regions selected.
static LogicalResult verifyNoGraphRegions(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    if (isa<jacobian::LinkOp>(op)) {
      op->emitOpError(
          "has a rule and a jacobian, but a plan uses only one; run bppsa-scan-links first");
      return WalkResult::interrupt();
    }
    if (!isa<RecurrenceOp, ChainOp>(op) || !isGraphBody(op->getRegion(0).front()))
      return WalkResult::advance();
    op->emitOpError("has a graph as its body; run bppsa-lower-graph-bodies first");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct Bufferize : public bppsa::impl::BufferizeBase<Bufferize> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verifyNoGraphRegions(module)))
      return signalPassFailure();
    module.walk([](StopGradientOp op) {
      op.getResult().replaceAllUsesWith(op.getOperand());
      op.erase();
    });
    for (auto function : module.getOps<func::FuncOp>()) {
      if (failed(passResultsByArgument(function)))
        return signalPassFailure();
      if (!function.isExternal())
        function->setAttr("llvm.emit_c_interface", UnitAttr::get(&getContext()));
      // Arguments, such as parameters, belong to the caller.
      for (BlockArgument argument : function.getArguments())
        if (isa<RankedTensorType>(argument.getType()))
          function.setArgAttr(argument.getArgNumber(),
                              bufferization::BufferizationDialect::kWritableAttrName,
                              BoolAttr::get(&getContext(), false));
    }

    bufferization::OneShotBufferizationOptions options;
    options.bufferizeFunctionBoundaries = true;
    options.setFunctionBoundaryTypeConversion(bufferization::LayoutMapOption::IdentityLayoutMap);
    options.bufferAlignment = 64;
    bufferization::BufferizationState state;
    if (failed(createGlobals(module, options.bufferAlignment)))
      return signalPassFailure();
    if (failed(bufferization::runOneShotModuleBufferize(module, options, state)))
      return signalPassFailure();
    bufferization::removeBufferizationAttributesInModule(module);
    eraseDeallocations(module);
    eraseSelfCopies(module);
    moveToStack(module);
    if (!freeAfterLastUses(module) && failed(freeByOwnership()))
      return signalPassFailure();
  }

  /// The upstream passes track ownership at run time and take several percent of compile time, so
  /// they only run if necessary.
  LogicalResult freeByOwnership() {
    OpPassManager pm(ModuleOp::getOperationName());
    bufferization::buildBufferDeallocationPipeline(pm);
    return runPipeline(pm, getOperation());
  }
};
} // namespace
