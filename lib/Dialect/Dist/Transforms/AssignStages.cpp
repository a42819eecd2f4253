//===- AssignStages.cpp - assigns operations to pipeline stages -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Forward operations belong to the last layer that they depend on, backward operations to the first
// layer whose values they read, so that stages exchange cotangents instead of activations.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/LayerGraph.h"
#include "bppsa/CostModel/OperationFlops.h"
#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSASchedule.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Dialect/Dist/Transforms/Passes.h"
#include "bppsa/Simulator/Placement.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include <set>

namespace bppsa {
#define GEN_PASS_DEF_ASSIGNSTAGES
#include "bppsa/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
struct Sources {
  llvm::SmallSetVector<Value, 4> parameters;
  bool hasData = false;
};

/// A layer begins with a node that has new parameters.
struct StagedLayer {
  std::string name;
  double flops = 0;
};

class StageAssigner {
public:
  explicit StageAssigner(func::FuncOp function)
      : function(function), block(function.front()), returned(block.getTerminator()) {}

  LogicalResult run(int64_t numStages);

private:
  void findSources();
  void findModules();
  void findLayers();
  LogicalResult checkLayers(int64_t numStages);
  LogicalResult assign(int64_t numStages);
  LogicalResult checkParameters(Operation *op, ArrayRef<int32_t> stages);
  void remark(ArrayRef<int32_t> stages, int64_t numStages);

  bool isStaged(Operation *op) const { return layers.contains(op); }
  int64_t findForwardLayer(Operation *op);
  int64_t findBackwardLayer(Operation *op) const;
  int64_t findUse(Value parameter, int64_t layer) const;
  void noteUses(Operation *op, int64_t layer);
  void beginLayer(Operation *op);
  Value getGradientOf(OpOperand &use) const;

  func::FuncOp function;
  Block &block;
  Operation *returned;
  llvm::DenseMap<Value, Sources> sources;
  llvm::DenseSet<Value> trained;
  std::vector<StagedLayer> all;
  llvm::MapVector<Operation *, int64_t> layers;
  llvm::DenseMap<Value, int64_t> parameterLayers;
  llvm::DenseMap<Value, std::set<int64_t>> parameterUses;
  /// True if parameters are annotated with their layer.
  bool hasModules = false;
  /// The last layer that reads the value in the forward pass.
  llvm::DenseMap<Value, int64_t> lastReaders;
};
} // namespace

void StageAssigner::findSources() {
  llvm::DenseSet<Attribute> gradients;
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
    if (StringAttr name = attrs::Gradient::ofResult(function, i))
      gradients.insert(name);
  for (BlockArgument argument : block.getArguments()) {
    StringAttr name = attrs::Parameter::ofArgument(function, argument.getArgNumber());
    if (name && gradients.contains(name))
      trained.insert(argument);
    if (name)
      sources[argument].parameters.insert(argument);
    else
      sources[argument].hasData = true;
  }
  bool isBackward = false;
  for (Operation &op : block.without_terminator()) {
    if (auto mark = dyn_cast<MarkPhaseOp>(op))
      isBackward = mark.getPhase() == 1;
    Sources own;
    if (!isa<tensor::DimOp>(op))
      for (Value operand : getUsedValues(&op)) {
        const Sources &used = sources[operand];
        own.parameters.insert_range(used.parameters);
        own.hasData |= used.hasData;
      }
    for (Value result : op.getResults())
      sources[result] = own;
    // If the loss is linear, cotangents may depend on parameters only.
    bool isCotangent = isBackward && llvm::any_of(own.parameters, [&](Value parameter) {
                         return trained.contains(parameter);
                       });
    if (!own.parameters.empty() && (own.hasData || isCotangent))
      layers[&op] = 0;
  }
}

/// With `bppsa-interlock`, each stage is a layer.
void StageAssigner::findModules() {
  for (BlockArgument argument : block.getArguments())
    if (auto stage = attrs::Stage::ofArgument(function, argument.getArgNumber())) {
      hasModules = true;
      parameterLayers[argument] = stage.getInt();
      while (static_cast<int64_t>(all.size()) <= stage.getInt())
        all.push_back({("module " + Twine(all.size() + 1)).str()});
    }
}

void StageAssigner::beginLayer(Operation *op) {
  std::string name = getLayerName(op);
  if (all.empty() || all.back().name != name)
    all.push_back({name});
}

int64_t StageAssigner::findForwardLayer(Operation *op) {
  int64_t layer = 0;
  for (Value operand : getUsedValues(op)) {
    Operation *made = operand.getDefiningOp();
    if (made && isStaged(made)) {
      layer = std::max(layer, layers[made]);
      continue;
    }
    for (Value parameter : sources[operand].parameters) {
      // The loss does not depend on running statistics, so they belong to the operation that
      // updates them.
      if (hasModules && !parameterLayers.contains(parameter))
        continue;
      if (!parameterLayers.contains(parameter)) {
        beginLayer(op);
        parameterLayers[parameter] = static_cast<int64_t>(all.size()) - 1;
      }
      layer = std::max(layer, parameterLayers[parameter]);
    }
  }
  return layer;
}

Value StageAssigner::getGradientOf(OpOperand &use) const {
  if (use.getOwner() != returned)
    return {};
  StringAttr name = attrs::Gradient::ofResult(function, use.getOperandNumber());
  for (BlockArgument argument : block.getArguments())
    if (name && attrs::Parameter::ofArgument(function, argument.getArgNumber()) == name)
      return argument;
  return {};
}

int64_t StageAssigner::findBackwardLayer(Operation *op) const {
  auto layer = static_cast<int64_t>(all.size()) - 1;
  llvm::SmallSetVector<Value, 4> read;
  for (Value operand : getUsedValues(op)) {
    Operation *made = operand.getDefiningOp();
    if (auto reader = lastReaders.find(operand); reader != lastReaders.end())
      layer = std::min(layer, reader->second);
    else if (made && isStaged(made))
      layer = std::min(layer, layers.lookup(made));
    if (made && isStaged(made))
      continue;
    for (Value parameter : sources.find(operand)->second.parameters)
      if (trained.contains(parameter))
        read.insert(parameter);
  }
  for (OpOperand &use : op->getUses())
    if (Value parameter = getGradientOf(use))
      layer = std::min(layer, parameterLayers.lookup(parameter));
  for (Value parameter : read)
    layer = std::min(layer, findUse(parameter, layer));
  return layer;
}

/// Returns the last layer up to `layer` that uses `parameter`, or else the first: cotangents have
/// already passed later layers.
int64_t StageAssigner::findUse(Value parameter, int64_t layer) const {
  auto uses = parameterUses.find(parameter);
  if (uses == parameterUses.end())
    return layer;
  auto after = uses->second.upper_bound(layer);
  return after == uses->second.begin() ? *after : *std::prev(after);
}

void StageAssigner::noteUses(Operation *op, int64_t layer) {
  for (Value operand : getUsedValues(op))
    if (Operation *made = operand.getDefiningOp(); !made || !isStaged(made))
      for (Value parameter : sources[operand].parameters)
        parameterUses[parameter].insert(layer);
}

void StageAssigner::findLayers() {
  bool isBackward = false;
  for (Operation &op : block.without_terminator()) {
    if (auto mark = dyn_cast<MarkPhaseOp>(op))
      isBackward = mark.getPhase() == 1;
    if (!isStaged(&op) || (isBackward && all.empty()))
      continue;
    int64_t layer = isBackward ? findBackwardLayer(&op) : findForwardLayer(&op);
    layers[&op] = layer;
    all[layer].flops += countStepFlops(&op);
    if (isBackward)
      continue;
    noteUses(&op, layer);
    for (Value result : op.getResults())
      lastReaders[result] = layer;
    for (Value operand : getUsedValues(&op))
      if (sources[operand].hasData) {
        int64_t &reader = lastReaders.try_emplace(operand, layer).first->second;
        reader = std::max(reader, layer);
      }
  }
}

void StageAssigner::remark(ArrayRef<int32_t> stages, int64_t numStages) {
  double sum = 0;
  std::vector<double> flops(numStages);
  std::vector<std::string> first(numStages);
  for (auto [layer, stage] : llvm::zip_equal(all, stages)) {
    sum += layer.flops;
    flops[stage] += layer.flops;
    if (first[stage].empty())
      first[stage] = layer.name;
  }
  auto options =
      remark::RemarkOpts::name("Stages").category("schedule").function(function.getName());
  for (int64_t stage = 0; stage < numStages; ++stage)
    remark::passed(function.getLoc(), options)
        << remark::add("stage {0} begins with '{1}' and has {2} % of the work", stage, first[stage],
                       static_cast<int64_t>(100 * flops[stage] / std::max(sum, 1.0) + 0.5));
}

/// Modules update their parameters without waiting for other modules.
LogicalResult StageAssigner::checkParameters(Operation *op, ArrayRef<int32_t> stages) {
  int32_t stage = stages[layers.lookup(op)];
  for (Value operand : getUsedValues(op)) {
    if (operand.getDefiningOp() && isStaged(operand.getDefiningOp()))
      continue;
    for (Value parameter : sources[operand].parameters) {
      int32_t home = stages[parameterLayers.lookup(parameter)];
      if (trained.contains(parameter) && home != stage)
        return refuse(function) << "a module needs parameters that no other module has, found "
                                << attrs::Parameter::ofArgument(
                                       function, cast<BlockArgument>(parameter).getArgNumber())
                                << " in stages " << std::min(home, stage) << " and "
                                << std::max(home, stage)
                                << "; use initializers of their own for each use";
    }
  }
  return success();
}

LogicalResult StageAssigner::assign(int64_t numStages) {
  schedule::Layers costs;
  // One extra FLOP places layers without work, such as reshapes of parameters.
  for (const StagedLayer &layer : all)
    costs.push_back({layer.flops + 1, 0, 0});
  std::vector<int32_t> stages = schedule::divideLayers(costs, static_cast<int32_t>(numStages));
  Builder builder(function.getContext());
  for (auto [op, layer] : layers) {
    if (hasModules && failed(checkParameters(op, stages)))
      return failure();
    attrs::Stage::set(op, builder.getI64IntegerAttr(stages[layer]));
  }
  remark(stages, numStages);
  return success();
}

LogicalResult StageAssigner::checkLayers(int64_t numStages) {
  auto count = static_cast<int64_t>(all.size());
  if (!hasModules && count < numStages)
    return refuse(function) << "a pipeline of " << numStages << " stages needs " << numStages
                            << " layers with parameters, found " << count << "; use fewer stages";
  if (!hasModules)
    return success();
  if (count != numStages)
    return refuse(function) << "modules are stages of their own: " << count
                            << " with parameters need as many stages, found " << numStages;
  // The operations of a module without parameters belong to an earlier module.
  for (int64_t module = 0; module < count; ++module)
    if (llvm::none_of(layers, [&](auto &entry) { return entry.second == module; }))
      return refuse(function) << "module " << module + 1
                              << " has no operation that depends on its own parameters; add some, "
                                 "or remove its loss";
  return success();
}

LogicalResult StageAssigner::run(int64_t numStages) {
  findSources();
  findModules();
  findLayers();
  if (failed(checkLayers(numStages)))
    return failure();
  return assign(numStages);
}

namespace {
struct AssignStages : public bppsa::impl::AssignStagesBase<AssignStages> {
  using AssignStagesBase::AssignStagesBase;

  void runOnOperation() override {
    FailureOr<SmallVector<func::FuncOp>> steps = requireEntries(getOperation(), EntryRole::Step);
    if (failed(steps))
      return signalPassFailure();
    for (func::FuncOp function : *steps) {
      if (!function.getBody().hasOneBlock() || stages < 1) {
        function.emitError() << "bppsa-assign-stages: needs training steps of one block and at "
                                "least 1 stage, found "
                             << function.getBody().getBlocks().size() << " blocks and "
                             << int64_t(stages) << " stages";
        return signalPassFailure();
      }
      if (failed(StageAssigner(function).run(stages)))
        return signalPassFailure();
    }
  }
};
} // namespace
