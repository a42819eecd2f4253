//===- LayerWork.cpp - layers of a training step in IR --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Operations carry node names, also in the backward pass. A backward operation computes parameter
// gradients if it is a sum over steps and samples, or no other layer depends on it.
//
//===----------------------------------------------------------------------===//

#include "LayerWork.h"
#include "bppsa/CostModel/LayerGraph.h"
#include "bppsa/CostModel/OperationFlops.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace bppsa;

namespace {
class LayerCounter {
public:
  explicit LayerCounter(func::FuncOp step) : step(step), body(step.getBody().front()) {
    for (Operation &op : body.without_terminator())
      if (double work = countStepFlops(&op); work > 0)
        flops[&op] = work;
    findBackwardPass();
    findLayers();
    assignParameters();
  }

  std::vector<ModelLayer> count() {
    if (layers.empty())
      return {};
    for (auto [op, work] : flops) {
      ModelLayer &layer = layers[getLayer(op)];
      if (!isBackward.contains(op))
        layer.forward += work;
      else if (isWeightGradient(op))
        layer.weight += work;
      else
        layer.backward += work;
    }
    for (Value value : getValues())
      countBytes(value);
    return std::move(layers);
  }

private:
  static bool isOfLoss(Operation *op) { return StringRef(getLayerName(op)).starts_with("loss "); }

  void findBackwardPass() {
    bool isAfterForward = false;
    for (Operation &op : body) {
      if (auto mark = dyn_cast<MarkPhaseOp>(op))
        isAfterForward = mark.getPhase() == 1;
      if (isAfterForward)
        isBackward.insert(&op);
    }
  }

  /// A layer starts at a node with trained parameters.
  void findLayers() {
    llvm::SmallSetVector<StringAttr, 8> withParameters;
    for (BlockArgument parameter : getParameters())
      for (Operation *user : getWork(parameter))
        withParameters.insert(getName(user));
    for (Operation &op : body) {
      if (isBackward.contains(&op) || !flops.contains(&op))
        continue;
      StringAttr name = getName(&op);
      if (withParameters.contains(name) && !numbers.contains(name))
        layers.emplace_back().name = name.str();
      numbers.try_emplace(name, std::max<size_t>(layers.size(), 1) - 1);
    }
  }

  /// Returns the arguments with a gradient among the results.
  SmallVector<BlockArgument> getParameters() {
    llvm::SmallDenseSet<Attribute> trained;
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      trained.insert(step.getResultAttr(i, "bppsa.gradient"));
    SmallVector<BlockArgument> parameters;
    for (BlockArgument argument : body.getArguments())
      if (Attribute name = step.getArgAttr(argument.getArgNumber(), "bppsa.parameter"))
        if (trained.contains(name))
          parameters.push_back(argument);
    return parameters;
  }

  StringAttr getName(Operation *op) const {
    return StringAttr::get(op->getContext(), getLayerName(op));
  }

  /// Returns the last layer if the node has no forward work.
  size_t getLayer(Operation *op) const {
    auto found = numbers.find(getName(op));
    return found == numbers.end() ? layers.size() - 1 : found->second;
  }

  /// Returns the first forward operations with work that read `value`, possibly through views.
  SmallVector<Operation *> getWork(Value value) const {
    SmallVector<Operation *> work;
    SmallVector<Value> values = {value};
    llvm::SmallPtrSet<Operation *, 16> seen;
    for (size_t i = 0; i < values.size(); ++i)
      for (Operation *user : values[i].getUsers()) {
        Operation *op = body.findAncestorOpInBlock(*user);
        if (isBackward.contains(op) || !seen.insert(op).second)
          continue;
        if (flops.contains(op))
          work.push_back(op);
        else
          llvm::append_range(values, op->getResults());
      }
    return work;
  }

  void assignParameters() {
    for (BlockArgument parameter : getParameters())
      if (SmallVector<Operation *> users = getWork(parameter); !users.empty()) {
        llvm::sort(users, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
        layers[getLayer(users.front())].tensors.push_back(
            cast<ShapedType>(parameter.getType()).getNumElements());
      }
  }

  bool isWeightGradient(Operation *op) {
    if (isa<OuterSumOp, StepSumOp>(op))
      return true;
    return !isa<RecurrenceOp, ChainOp>(op) && !isOfLoss(op) && !feedsOthers(op, getLayer(op));
  }

  /// Returns true if another layer's work depends on `op`.
  bool feedsOthers(Operation *op, size_t layer) const {
    SmallVector<Operation *> ops = {op};
    llvm::SmallPtrSet<Operation *, 16> seen;
    for (size_t i = 0; i < ops.size(); ++i)
      for (Operation *user : ops[i]->getUsers()) {
        Operation *next = body.findAncestorOpInBlock(*user);
        if (flops.contains(next) && getLayer(next) != layer)
          return true;
        if (seen.insert(next).second)
          ops.push_back(next);
      }
    return false;
  }

  /// Returns operands and results of forward work, without views.
  SmallVector<Value> getValues() {
    SmallVector<Value> values;
    for (BlockArgument argument : body.getArguments())
      if (step.getArgAttr(argument.getArgNumber(), "bppsa.input"))
        values.push_back(argument);
    for (auto &[op, work] : flops)
      if (!isBackward.contains(op))
        llvm::append_range(values, op->getResults());
    return values;
  }

  void countBytes(Value value) {
    auto type = dyn_cast<ShapedType>(value.getType());
    if (!type)
      return;
    int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    size_t own = value.getDefiningOp() ? getLayer(value.getDefiningOp()) : 0, last = own;
    bool isKept = false;
    SmallVector<Value> values = {value};
    for (size_t i = 0; i < values.size(); ++i)
      for (Operation *user : values[i].getUsers()) {
        Operation *op = body.findAncestorOpInBlock(*user);
        isKept |= isBackward.contains(op);
        if (isBackward.contains(op))
          continue;
        if (flops.contains(op))
          last = std::max(last, getLayer(op));
        else
          llvm::append_range(values, op->getResults());
      }
    if (isKept)
      layers[own].activationBytes += bytes;
    for (size_t layer = own; layer < last; ++layer)
      layers[layer].outputBytes += bytes;
  }

  func::FuncOp step;
  Block &body;
  llvm::MapVector<Operation *, double> flops;
  llvm::SmallPtrSet<Operation *, 32> isBackward;
  std::vector<ModelLayer> layers;
  llvm::DenseMap<StringAttr, size_t> numbers;
};
} // namespace

std::vector<ModelLayer> bppsa::countLayers(func::FuncOp step) { return LayerCounter(step).count(); }
