//===- StepAnchors.cpp - candidates for steps -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepAnchors.h"
#include "StepMatcher.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace bppsa;

using OpList = SmallVector<Operation *>;

/// Contractions come first.
static void addReadersOfOneArray(Block &block, unsigned minSteps,
                                 SmallVectorImpl<StepAnchors> &found) {
  llvm::MapVector<std::pair<unsigned, Value>, OpList> groups;
  for (auto generic : block.getOps<linalg::GenericOp>()) {
    if (generic.getNumResults() != 1)
      continue;
    unsigned isSum = generic.getNumReductionLoops() > 0;
    for (Value input : generic.getInputs())
      if (auto type = dyn_cast<RankedTensorType>(input.getType());
          type && type.hasStaticShape() && !input.getDefiningOp<arith::ConstantOp>())
        groups[{isSum, input}].push_back(generic);
  }
  for (unsigned isSum : {1, 0})
    for (auto &[key, ops] : groups)
      if (key.first == isSum && ops.size() >= minSteps)
        found.push_back({ops, /*shareArray=*/true});
}

SmallVector<OpList> bppsa::groupEqualOps(Block &block,
                                         function_ref<bool(linalg::GenericOp)> isWanted) {
  DenseMap<llvm::hash_code, SmallVector<unsigned>> numbers;
  SmallVector<OpList> groups;
  auto ignore = [](Value) { return llvm::hash_code(0); };
  for (auto generic : block.getOps<linalg::GenericOp>()) {
    if (generic.getNumResults() != 1 || !isWanted(generic))
      continue;
    llvm::hash_code hash = OperationEquivalence::computeHash(generic, ignore, ignore,
                                                             OperationEquivalence::IgnoreLocations);
    for (Operation &inner : *generic.getBody())
      hash = llvm::hash_combine(
          hash, OperationEquivalence::computeHash(&inner, ignore, ignore,
                                                  OperationEquivalence::IgnoreLocations));
    SmallVector<unsigned> &candidates = numbers[hash];
    auto known = llvm::find_if(
        candidates, [&](unsigned number) { return areEqualOps(groups[number].front(), generic); });
    if (known != candidates.end()) {
      groups[*known].push_back(generic);
      continue;
    }
    candidates.push_back(groups.size());
    groups.push_back({generic});
  }
  return groups;
}

static bool isSlice(Value value) {
  if (auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>())
    value = collapse.getSrc();
  return value.getDefiningOp<tensor::ExtractSliceOp>() != nullptr;
}

/// `op` must depend on `before` and a sequence slice through few operations.
static bool isNextStep(Operation *op, Operation *before) {
  constexpr size_t kMaxOps = 256;
  bool isLinked = false, readsSlice = false;
  SmallVector<Operation *> waiting = {op};
  DenseSet<Operation *> seen = {op};
  for (size_t i = 0; i < waiting.size() && waiting.size() < kMaxOps; ++i)
    for (Value read : getReads(waiting[i])) {
      Operation *definition = read.getDefiningOp();
      isLinked |= definition == before;
      readsSlice |= isSlice(read);
      if (isLinked && readsSlice)
        return true;
      if (definition && definition->getBlock() == op->getBlock() &&
          before->isBeforeInBlock(definition) && seen.insert(definition).second)
        waiting.push_back(definition);
    }
  return false;
}

/// A step may contain several equal operations, so every `distance`-th is tried, too.
static void addChainsOfEqualOps(Block &block, unsigned minSteps,
                                SmallVectorImpl<StepAnchors> &found) {
  constexpr size_t kMaxPerStep = 4;
  auto isElementwise = [](linalg::GenericOp op) { return op.getNumReductionLoops() == 0; };
  for (const OpList &group : groupEqualOps(block, isElementwise))
    for (size_t distance = 1; distance <= kMaxPerStep; ++distance)
      for (size_t first = 0; first < distance; ++first) {
        OpList ops;
        for (size_t i = first; i < group.size(); i += distance)
          ops.push_back(group[i]);
        if (ops.size() >= minSteps && isNextStep(ops[1], ops[0]) && isNextStep(ops[2], ops[1]))
          found.push_back({ops});
      }
}

SmallVector<StepAnchors> bppsa::findStepAnchors(Block &block, unsigned minSteps) {
  SmallVector<StepAnchors> found;
  addReadersOfOneArray(block, minSteps, found);
  addChainsOfEqualOps(block, minSteps, found);
  return found;
}
