//===- HostCosts.cpp - CPU operation counts of chains ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/HostCosts.h"
#include "bppsa/CostModel/ChainExtraction.h"
#include "bppsa/Dialect/BPPSA/Analysis/StepJacobian.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace bppsa;

/// Minimum rows of a product that a kernel sums in parallel; and latency of an operand of a
/// product, which is stored first.
static constexpr int64_t kRowsOfBlock = 8, kStoredHandOver = 4;

/// Returns the operations per row of an op that is no product; 0 for data movement.
static int64_t getRowOperations(Operation *op) {
  auto cell = dyn_cast<CellOpInterface>(op);
  return cell ? getRowInstructions(cell.getWork()) : 0;
}

static int64_t countOperations(Operation *op) {
  if (auto product = dyn_cast<MatVecOp>(op))
    return product.getMatrix().getType().getNumElements();
  return op->getNumResults() == 1
             ? getRowOperations(op) * getNumElements(op->getResult(0).getType())
             : 0;
}

static int64_t countDepth(Operation *op) {
  auto product = dyn_cast<MatVecOp>(op);
  if (!product)
    return getRowOperations(op);
  int64_t blocks = llvm::divideCeil(getNumElements(product.getResult().getType()), kRowsOfBlock);
  return blocks * getNumElements(product.getVector().getType()) + kStoredHandOver;
}

static int64_t countUnitOperations(Operation *op) {
  if (auto product = dyn_cast<MatVecOp>(op))
    return getNumElements(product.getVector().getType());
  return op->getNumResults() == 1 ? getRowOperations(op) : 0;
}

/// Returns the dependent vector operations.
static int64_t countUnitDepth(Operation *op) {
  auto product = dyn_cast<MatVecOp>(op);
  if (!product)
    return getRowOperations(op);
  return llvm::divideCeil(getNumElements(product.getVector().getType()), 2) + 1 + kStoredHandOver;
}

static llvm::SetVector<Operation *> getNeeded(ValueRange roots) {
  llvm::SetVector<Operation *> needed;
  auto add = [&](Value value) {
    if (Operation *op = value.getDefiningOp())
      needed.insert(op);
  };
  llvm::for_each(roots, add);
  for (size_t i = 0; i < needed.size(); ++i)
    llvm::for_each(needed[i]->getOperands(), add);
  return needed;
}

static cost::HostChain getCost(ChainOp loop) {
  Block &body = loop.getBody().front();
  size_t numSaved = loop.getSaved().size(), numStates = loop.getSeeds().size();
  auto states = body.getArguments().slice(numSaved, numStates);
  OperandRange yielded = body.getTerminator()->getOperands();
  llvm::SetVector<Operation *> next = getNeeded(yielded.take_front(numStates)),
                               all = getNeeded(yielded);
  RegionCost region = getRegionCost(loop);
  jacobian::MatrixType jacobian = inferStepJacobian(loop);
  cost::HostChain chain;
  chain.rows = 0;
  for (BlockArgument state : states)
    chain.rows += getNumElements(state.getType());
  chain.columns = jacobian && jacobian.getStructure().isDiagonal() ? 1 : chain.rows;
  chain.hasOffset = !loop.getInjected().empty();
  chain.bytes = region.savedBytes + region.emittedBytes;

  llvm::SmallPtrSet<Value, 32> cotangents(states.begin(), states.end());
  llvm::DenseMap<Value, std::pair<int64_t, int64_t>> depths;
  for (Operation &op : body.without_terminator()) {
    if (!all.contains(&op))
      continue;
    int64_t begin = 0, unitBegin = 0;
    for (Value operand : op.getOperands()) {
      auto [depth, unitDepth] = depths.lookup(operand);
      begin = std::max(begin, depth);
      unitBegin = std::max(unitBegin, unitDepth);
    }
    bool ofColumn =
        llvm::any_of(op.getOperands(), [&](Value value) { return cotangents.contains(value); });
    for (Value result : op.getResults()) {
      auto [depth, unitDepth] =
          depths[result] = {begin + countDepth(&op), unitBegin + countUnitDepth(&op)};
      chain.depth = std::max(chain.depth, depth);
      chain.unitDepth = std::max(chain.unitDepth, unitDepth);
      if (ofColumn)
        cotangents.insert(result);
    }
    chain.linkOperations += countOperations(&op);
    chain.unitOperations += countUnitOperations(&op);
    if (ofColumn && next.contains(&op))
      chain.columnOperations += countOperations(&op);
  }
  return chain;
}

std::vector<cost::HostChain> bppsa::getHostCosts(Operation *root) {
  std::vector<cost::HostChain> costs;
  root->walk([&](ChainOp loop) { costs.push_back(getCost(loop)); });
  return costs;
}
