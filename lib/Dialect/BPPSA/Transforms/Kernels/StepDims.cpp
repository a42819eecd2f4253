//===- StepDims.cpp - where the steps of arrays are -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepDims.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace bppsa;

StepDims::StepDims(Block &block) {
  for (auto loop : block.getOps<RecurrenceOp>())
    hasDirections |= loop.getReverse();
  // Operations tell of the arrays of others, before and behind them.
  for (size_t before = ~size_t(0); before != known.size();) {
    before = known.size();
    for (Operation &op : block)
      if (std::optional<OfOperands> dims = find(&op))
        for (auto [operand, dim] : llvm::zip_equal(op.getOperands(), *dims))
          if (dim)
            known.try_emplace(operand, *dim);
  }
  for (Operation &op : block) {
    std::optional<OfOperands> dims = find(&op);
    if (!dims)
      continue;
    Value first;
    for (auto [operand, dim] : llvm::zip_equal(op.getOperands(), *dims))
      if (dim)
        join(first ? first : (first = operand), operand);
    if (auto loop = dyn_cast<RecurrenceOp>(op))
      joinTrajectories(loop);
  }
}

/// Whether `size` is one more than `other`.
static bool isOneMore(OpFoldResult size, OpFoldResult other) {
  std::optional<int64_t> fixed = getConstantIntValue(size), fixedOther = getConstantIntValue(other);
  if (fixed || fixedOther)
    return fixed && fixedOther && *fixed == *fixedOther + 1;
  auto sum = cast<Value>(size).getDefiningOp<arith::AddIOp>();
  return sum && sum.getLhs() == cast<Value>(other) && matchPattern(sum.getRhs(), m_One());
}

/// Notes which views of the trajectories of `loop` are the states behind its steps.
void StepDims::joinTrajectories(RecurrenceOp loop) {
  for (Value trajectory : getTrajectories(loop)) {
    auto memory = trajectory.getDefiningOp<memref::AllocOp>();
    if (!memory)
      continue;
    OpFoldResult slots = memory.getMixedSizes()[1];
    for (Operation *user : memory->getUsers()) {
      auto view = dyn_cast<memref::SubViewOp>(user);
      if (!view || view.getType().getRank() != 4 ||
          !isConstantIntValue(view.getMixedOffsets()[1], 1) ||
          !isOneMore(slots, view.getMixedSizes()[1]))
        continue;
      statesBehind.insert(view);
      join(loop.getSequences().front(), view);
    }
  }
}

std::optional<StepDims::OfOperands> StepDims::findOfLoop(RecurrenceOp loop) const {
  bool hasStates = !loop.getInitial().empty();
  if (loop.getSequences().empty() || !loop.getLanes() || loop.getSteps() || loop.isGraphForm() ||
      (hasStates && hasDirections))
    return std::nullopt;
  OfOperands dims(loop->getNumOperands());
  for (OpOperand &operand : loop->getOpOperands())
    if (llvm::is_contained(loop.getSequences(), operand.get()) ||
        operand.getOperandNumber() >=
            loop.getDestinations().getBeginOperandIndex() + loop.getInitial().size())
      dims[operand.getOperandNumber()] = 1;
  return dims;
}

std::optional<StepDims::OfOperands> StepDims::find(Operation *op) const {
  if (op->getNumResults() > 0)
    return std::nullopt;
  std::optional<OfOperands> dims;
  if (auto loop = dyn_cast<RecurrenceOp>(op)) {
    dims = findOfLoop(loop);
  } else if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    return findOfLinalg(linalgOp);
  } else if (isa<PackLanesOp, UnpackLanesOp>(op)) {
    bool packs = isa<PackLanesOp>(op);
    if (cast<MemRefType>(op->getOperand(0).getType()).getRank() != (packs ? 3 : 4))
      return std::nullopt;
    dims.emplace(op->getNumOperands());
    dims->front() = packs ? 0 : 1;
    dims->back() = packs ? 1 : 0;
  }
  if (!dims)
    return std::nullopt;
  for (auto [operand, dim] : llvm::zip_equal(op->getOperands(), *dims))
    if (auto other = known.find(operand); other != known.end() && dim != other->second)
      return std::nullopt;
  return dims;
}

/// The result of `map` that is loop `loop`; nothing where it has none, failure where it depends on
/// the loop in another way.
static FailureOr<std::optional<int64_t>> findLoop(AffineMap map, unsigned loop) {
  std::optional<int64_t> found;
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(loop))
      continue;
    if (found || !isa<AffineDimExpr>(expr))
      return failure();
    found = i;
  }
  return found;
}

std::optional<StepDims::OfOperands> StepDims::findOfLinalg(linalg::LinalgOp op) const {
  std::optional<unsigned> loop;
  for (OpOperand &operand : op->getOpOperands())
    if (auto dim = known.find(operand.get()); dim != known.end() && !loop) {
      auto expr =
          dyn_cast<AffineDimExpr>(op.getMatchingIndexingMap(&operand).getResult(dim->second));
      if (!expr)
        return std::nullopt;
      loop = expr.getPosition();
    }
  if (!loop || op.getIteratorTypesArray()[*loop] != utils::IteratorType::parallel)
    return std::nullopt;
  bool countsSteps =
      op->walk([&](linalg::IndexOp index) {
          return index.getDim() == *loop ? WalkResult::interrupt() : WalkResult::advance();
        }).wasInterrupted();
  if (countsSteps)
    return std::nullopt;
  OfOperands dims;
  for (OpOperand &operand : op->getOpOperands()) {
    FailureOr<std::optional<int64_t>> dim = findLoop(op.getMatchingIndexingMap(&operand), *loop);
    auto other = known.find(operand.get());
    if (failed(dim) || (other != known.end() && *dim != other->second) ||
        (op.isDpsInit(&operand) && !*dim))
      return std::nullopt;
    dims.push_back(*dim);
  }
  return dims;
}
