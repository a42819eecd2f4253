//===- SinkReads.cpp - sinks reads of arguments to their uses -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

namespace bppsa {
#define GEN_PASS_DEF_SINKREADS
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static bool isReadOfInput(memref::LoadOp load) {
  auto argument = dyn_cast<BlockArgument>(load.getMemRef());
  return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp()) &&
         llvm::all_of(argument.getUsers(),
                      [](Operation *user) { return isa<memref::LoadOp>(user); });
}

/// Returns nothing if `value` needs operations with side effects or no reads of inputs.
static SetVector<Operation *> findReads(Value value) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [](Operation *op) { return !isa<func::FuncOp>(op); };
  if (failed(getBackwardSlice(value, &slice, options)))
    return {};
  bool reads = false;
  for (Operation *op : slice) {
    auto load = dyn_cast<memref::LoadOp>(op);
    if (load ? !isReadOfInput(load) : !isMemoryEffectFree(op))
      return {};
    reads |= static_cast<bool>(load);
  }
  return reads ? topologicalSort(slice) : SetVector<Operation *>();
}

/// Recomputes captured reads of inputs inside `op`.
static void sinkReads(linalg::LinalgOp op) {
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  Block &body = op->getRegion(0).front();
  for (Value value : captured) {
    IRMapping mapping;
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    for (Operation *read : findReads(value))
      builder.clone(*read, mapping);
    if (Value copy = mapping.lookupOrNull(value))
      value.replaceUsesWithIf(copy,
                              [&](OpOperand &use) { return op->isProperAncestor(use.getOwner()); });
  }
}

namespace {
struct SinkReads : public bppsa::impl::SinkReadsBase<SinkReads> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    getOperation().walk([](linalg::LinalgOp op) { sinkReads(op); });
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(getOperation().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }
};
} // namespace
