//===- ResidualCut.cpp - cut between forward and backward part ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ResidualCut.h"
#include "SizeFormulas.h"
#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "bppsa/Dialect/BPPSA/Analysis/MemoryAccesses.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/Utils/ViewRoot.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace bppsa;

static bool isOutput(func::FuncOp function, Value memory) {
  auto argument = dyn_cast<BlockArgument>(memory);
  return argument && argument.getOwner() == &function.front() &&
         attrs::Output::ofArgument(function, argument.getArgNumber());
}

static Value getReshapedArray(Value view) {
  while (isa_and_nonnull<memref::CollapseShapeOp, memref::ExpandShapeOp, memref::CastOp>(
      view.getDefiningOp()))
    view = cast<ViewLikeOpInterface>(view.getDefiningOp()).getViewSource();
  return view;
}

static void eraseWhollyWritten(Operation *op, llvm::SmallDenseSet<Value> &arrays) {
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  SmallVector<MemoryEffects::EffectInstance> effects;
  if (interface)
    interface.getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects)
    if (isa<MemoryEffects::Write>(effect.getEffect()) && effect.getEffectOnFullRegion())
      arrays.erase(getReshapedArray(effect.getValue()));
}

MarkPhaseOp bppsa::findBackwardMark(func::FuncOp function) {
  bool hasOutput = false, hasGradient = false, hasLoss = false;
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
    hasOutput |= attrs::Output::ofArgument(function, i) != nullptr;
    hasGradient |= attrs::Gradient::ofArgument(function, i) != nullptr;
    hasLoss |= attrs::Loss::ofArgument(function, i) != nullptr;
  }
  if (!hasOutput || !hasGradient || hasLoss || !llvm::hasSingleElement(function.getBody()))
    return {};
  for (auto mark : function.getOps<MarkPhaseOp>())
    if (mark.getPhase() == 1)
      return mark;
  return {};
}

/// No array is kept only for its size.
static void resolveSizes(func::FuncOp function, SizeFormulas &formulas) {
  SmallVector<memref::DimOp> sizes;
  function.walk([&](memref::DimOp op) {
    if (op.getConstantIndex() && getViewRoot(op.getSource()).getDefiningOp<memref::AllocOp>())
      sizes.push_back(op);
  });
  for (memref::DimOp op : sizes) {
    Value size = formulas.emitSize(op.getSource(), *op.getConstantIndex());
    if (!size || formulas.isBound(size))
      continue;
    op.replaceAllUsesWith(size);
    op.erase();
  }
}

/// The caller may overwrite outputs before the backward part reads them, so it reads copies.
static LogicalResult keepOutputs(func::FuncOp function, MarkPhaseOp mark, OpBuilder &builder,
                                 SizeFormulas &formulas) {
  auto isRead = [&](BlockArgument output) {
    for (Operation *op = mark->getNextNode(); op; op = op->getNextNode()) {
      llvm::SmallDenseSet<Value> written = getWrittenArrays(op);
      for (Value used : getUsedValues(op))
        if (getViewRoot(used) == output && !written.contains(output))
          return true;
    }
    return false;
  };
  for (BlockArgument output : function.getArguments()) {
    if (!isOutput(function, output) || !isRead(output))
      continue;
    auto type = cast<MemRefType>(output.getType());
    SmallVector<Value> sizes;
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (type.isDynamicDim(i))
        sizes.push_back(formulas.emitSize(output, i));
    if (llvm::is_contained(sizes, Value()))
      return function.emitOpError("has an output whose size cannot be computed from its arguments");
    auto own = memref::AllocOp::create(builder, output.getLoc(), type, sizes,
                                       builder.getI64IntegerAttr(kResidualAlignment));
    output.replaceUsesWithIf(own,
                             [](OpOperand &use) { return !isa<memref::DimOp>(use.getOwner()); });
    OpBuilder behind(mark);
    memref::CopyOp::create(behind, output.getLoc(), own, output);
    behind.setInsertionPoint(function.front().getTerminator());
    memref::DeallocOp::create(behind, output.getLoc(), own);
  }
  return success();
}
namespace {
class CutFinder {
public:
  CutFinder(func::FuncOp function, MarkPhaseOp mark) : function(function), mark(mark) {}

  FailureOr<ResidualCut> run();

private:
  void addForward(Operation *op);
  LogicalResult require(Value value);

  func::FuncOp function;
  MarkPhaseOp mark;
  ResidualCut cut;
  llvm::SmallDenseSet<Value> changed, required;
};
} // namespace

void CutFinder::addForward(Operation *op) {
  if (!cut.forward.insert(op).second)
    return;
  for (Value used : getUsedValues(op))
    if (Operation *definition = used.getDefiningOp();
        definition && definition->getBlock() == mark->getBlock() && isMemoryEffectFree(definition))
      addForward(definition);
}

LogicalResult CutFinder::require(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !cut.forward.contains(op) || !required.insert(value).second)
    return success();
  // Sizes of memory that may not exist in the backward part.
  auto isElsewhere = [&](Value memory) {
    return isOutput(function, memory) || memory.getDefiningOp<memref::AllocOp>();
  };
  auto size = dyn_cast<memref::DimOp>(op);
  bool isSize = size && isElsewhere(getViewRoot(size.getSource()));
  if (isa<memref::AllocOp>(op) && changed.contains(value))
    cut.arrays.push_back(cast<memref::AllocOp>(op));
  if (isa<memref::AllocOp>(op) || (isMemoryEffectFree(op) && !isSize)) {
    for (Value used : getUsedValues(op))
      if (failed(require(used)))
        return failure();
    return success();
  }
  if (!value.getType().isIntOrIndexOrFloat())
    return op->emitOpError("allocates memory that cannot be kept for the backward part");
  cut.numbers.insert(value);
  return success();
}

FailureOr<ResidualCut> CutFinder::run() {
  Operation *end = function.front().getTerminator();
  for (Operation &op : function.front()) {
    if (&op == mark)
      break;
    addForward(&op);
    changed.insert_range(getWrittenArrays(&op));
  }
  for (Operation *op = mark->getNextNode(); op != end; op = op->getNextNode()) {
    llvm::SmallDenseSet<Value> written = getWrittenArrays(op);
    if (llvm::any_of(written, [&](Value root) { return isOutput(function, root); }))
      addForward(op);
    else
      cut.written.insert(written.begin(), written.end());
  }
  for (Operation *op = mark->getNextNode(); op != end; op = op->getNextNode())
    if (!cut.forward.contains(op) && !isa<memref::DeallocOp>(op))
      for (Value used : getUsedValues(op))
        if (failed(require(used)))
          return failure();
  // Memory used only in the forward part is freed there.
  for (Operation *op = mark->getNextNode(); op != end; op = op->getNextNode())
    if (auto dealloc = dyn_cast<memref::DeallocOp>(op)) {
      Operation *allocation = dealloc.getMemref().getDefiningOp();
      if (cut.forward.contains(allocation) && !required.contains(dealloc.getMemref()))
        cut.forward.insert(op);
    }
  cut.forward.erase(end);
  cut.partial.insert_range(cut.arrays);
  for (Operation *op : cut.forward)
    eraseWhollyWritten(op, cut.partial);
  llvm::sort(cut.arrays,
             [](memref::AllocOp a, memref::AllocOp b) { return a->isBeforeInBlock(b); });
  return cut;
}

FailureOr<ResidualCut> bppsa::findResiduals(func::FuncOp function, MarkPhaseOp mark,
                                            unsigned numSymbols) {
  OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
  SmallVector<Value> symbols = SizeFormulas::readSymbols(function, builder, numSymbols);
  SizeFormulas formulas(function, builder, symbols);
  resolveSizes(function, formulas);
  if (failed(keepOutputs(function, mark, builder, formulas)))
    return failure();
  return CutFinder(function, mark).run();
}
