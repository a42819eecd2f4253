//===- StepDims.cpp - time dimensions of arrays ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepDims.h"
#include "RowOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace bppsa;

StepDims::StepDims(Block &block) {
  for (auto loop : block.getOps<RecurrenceOp>())
    hasDirections |= loop.getReverse();
  for (Operation &op : block) {
    std::optional<OfOperands> dims = find(&op);
    if (!dims)
      continue;
    std::optional<std::pair<Value, int64_t>> first;
    for (auto [operand, dim] : llvm::zip_equal(op.getOperands(), *dims)) {
      if (!dim)
        continue;
      if (!first)
        first = {operand, *dim};
      join(first->first, first->second, operand, *dim);
    }
    if (auto loop = dyn_cast<RecurrenceOp>(op))
      joinTrajectories(loop);
  }
}

static bool isOneMore(OpFoldResult size, OpFoldResult other) {
  std::optional<int64_t> fixed = getConstantIntValue(size), fixedOther = getConstantIntValue(other);
  if (fixed || fixedOther)
    return fixed && fixedOther && *fixed == *fixedOther + 1;
  auto sum = cast<Value>(size).getDefiningOp<arith::AddIOp>();
  return sum && sum.getLhs() == cast<Value>(other) && matchPattern(sum.getRhs(), m_One());
}

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
      join(loop.getSequences().front(), /*dim=*/1, view, /*dimOfB=*/1);
    }
  }
}

std::optional<StepDims::OfOperands> StepDims::findOfLoop(RecurrenceOp loop) const {
  bool hasStates = !loop.getInitial().empty();
  if (loop.getSequences().empty() || !loop.getLanes() || loop.getSteps() || loop.isGraphForm() ||
      (hasStates && hasDirections))
    return std::nullopt;
  OfOperands dims(loop->getNumOperands());
  MutableArrayRef<std::optional<int64_t>> places = dims;
  llvm::fill(places.take_front(loop.getSequences().size()), 1);
  llvm::fill(places.take_back(loop.getDestinations().size() - loop.getInitial().size()), 1);
  return dims;
}

std::optional<StepDims::OfOperands> StepDims::find(Operation *op) const {
  if (op->getNumResults() > 0)
    return std::nullopt;
  std::optional<OfOperands> dims;
  if (auto loop = dyn_cast<RecurrenceOp>(op)) {
    dims = findOfLoop(loop);
  } else if (isa<PackLanesOp, UnpackLanesOp>(op)) {
    bool packs = isa<PackLanesOp>(op);
    if (cast<MemRefType>(op->getOperand(0).getType()).getRank() != (packs ? 3 : 4))
      return std::nullopt;
    dims.emplace(op->getNumOperands());
    dims->front() = packs ? 0 : 1;
    dims->back() = packs ? 1 : 0;
  } else if (auto rows = dyn_cast<linalg::LinalgOp>(op); rows && countRowLoops(rows) >= kRowDims) {
    dims.emplace(op->getNumOperands());
    for (auto [dim, operand] : llvm::zip_equal(*dims, op->getOpOperands()))
      if (hasRows(operand))
        dim = 0;
  }
  return dims;
}
