//===- ParseModel.cpp - Parse the description of a compiled model ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Program/Keys.h"
#include "bppsa/Program/Mappings.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Model.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

using namespace bppsa::runtime;
namespace cost = bppsa::cost;
namespace keys = bppsa::program::keys;
using bppsa::program::kSchemaVersion;
using nlohmann::json;

static Extent parseExtent(const json &value, const std::vector<std::string> &symbols) {
  Extent extent;
  if (value.is_number_integer()) {
    extent.number = value.get<int64_t>();
  } else if (value.is_string()) {
    auto found = std::find(symbols.begin(), symbols.end(), value.get<std::string>());
    if (found == symbols.end())
      fail("unknown symbol ", quote(value.get<std::string>()));
    extent.kind = Extent::Kind::Symbol;
    extent.symbol = found - symbols.begin();
  } else {
    extent.kind = Extent::Kind::Operation;
    extent.op = value.at(0).get<std::string>();
    static const std::vector<std::string> known = {"+", "*", "floordiv", "ceildiv", "mod"};
    if (std::find(known.begin(), known.end(), extent.op) == known.end())
      fail("unknown operation ", quote(extent.op));
    for (int i : {1, 2})
      extent.operands.push_back(parseExtent(value.at(i), symbols));
  }
  return extent;
}

static std::optional<int64_t> optionalInteger(const json &object, const char *key) {
  auto found = object.find(key);
  return found == object.end() || found->is_null() ? std::nullopt
                                                   : std::optional(found->get<int64_t>());
}

static ArrayInfo parseArray(const json &object, const std::vector<std::string> &symbols) {
  ArrayInfo info;
  info.name = object.value(keys::kName, "target");
  info.dtype = dtypeOfModel(object.at(keys::kDtype).get<std::string>());
  for (const json &extent : object.at(keys::kShape))
    info.shape.push_back(parseExtent(extent, symbols));
  for (const json &axis : object.at(keys::kBatchAxes))
    info.batchAxes.push_back(axis.is_null() ? -1 : axis.get<int64_t>());
  info.timeAxis = optionalInteger(object, keys::kTimeAxis);
  info.gradient = object.value(keys::kGradient, false);
  info.carried = object.value(keys::kCarried, "");
  info.classes = optionalInteger(object, keys::kClasses);
  for (auto [key, list] : {std::pair(keys::kIndexBounds, &info.indexBounds),
                           std::pair(keys::kLengthBounds, &info.lengthBounds)})
    if (auto bounds = object.find(key); bounds != object.end())
      for (const json &extent : *bounds)
        list->push_back(parseExtent(extent, symbols));
  std::vector<int64_t> axes = info.batchAxes;
  axes.push_back(info.timeAxis.value_or(-1));
  for (int64_t axis : axes)
    if (axis < -1 || axis >= static_cast<int64_t>(info.shape.size()))
      fail("axis out of range in array ", quote(info.name));
  return info;
}

static ParameterInfo parseParameter(const json &object, uint64_t onnxSize) {
  ParameterInfo info;
  info.name = object.at(keys::kName).get<std::string>();
  info.shape = object.at(keys::kShape).get<std::vector<int64_t>>();
  info.trained = object.at(keys::kTrained).get<bool>();
  info.statistic = object.value(keys::kStatistic, false);
  info.pruned = object.value(keys::kPruned, false);
  info.offset = object.at(keys::kOffset).get<uint64_t>();
  info.stride = object.at(keys::kStride).get<uint64_t>();
  info.frozenRows = object.value(keys::kFrozenRows, std::vector<int64_t>());
  info.elements = 1;
  for (int64_t extent : info.shape)
    info.elements *= extent;
  if (info.elements > 0 && (info.stride < 4 || info.offset > onnxSize ||
                            (info.elements - 1) * info.stride + 4 > onnxSize - info.offset))
    fail("parameter ", quote(info.name), " is not inside the ONNX file");
  return info;
}

static cost::ChainCost parseChain(const json &object) {
  cost::ChainCost chain;
  chain.rows = object.at(keys::kRows).get<int64_t>();
  chain.columns = object.at(keys::kColumns).get<int64_t>();
  chain.hasOffset = object.at(keys::kHasOffset).get<bool>();
  chain.savedBytes = object.at(keys::kSavedBytes).get<int64_t>();
  chain.emittedBytes = object.at(keys::kEmittedBytes).get<int64_t>();
  for (size_t work = 0; work < cost::kNumWorks; ++work) {
    const json &step = object.at(cost::workNames[work]);
    cost::StepCost &cost = chain.steps[work];
    cost.cycles = step.at(keys::kCycles).get<double>();
    cost.instructions = step.at(keys::kInstructions).get<double>();
    cost.warps = step.at(keys::kWarps).get<int64_t>();
    cost.resident = step.at(keys::kResident).get<int64_t>();
    cost.columns = step.at(keys::kColumns).get<double>();
    if (cost.resident < 1 || cost.columns < 1)
      fail("a step of the work ", quote(cost::workNames[work]), " has no block");
  }
  return chain;
}

template <typename Visit> static void forEachArray(Model &model, Visit &&visit) {
  for (ArrayInfo &input : model.inputs)
    visit(input);
  for (ArrayInfo &output : model.outputs)
    visit(output);
  for (LossInfo &loss : model.losses)
    for (std::optional<ArrayInfo> *info : {&loss.target, &loss.weight})
      if (*info)
        visit(**info);
}

static void chooseLayout(Model &model, size_t layout) {
  model.layout = layout;
  forEachArray(model, [&](ArrayInfo &info) {
    int64_t axis = info.batchAxes[layout];
    info.batchAxis = axis < 0 ? std::nullopt : std::optional<int64_t>(axis);
  });
}

static void parseLayouts(Model &model, const json &root) {
  size_t count = model.outputs.at(0).batchAxes.size();
  forEachArray(model, [&](const ArrayInfo &info) {
    if (info.batchAxes.empty() || info.batchAxes.size() != count)
      fail("array ", quote(info.name), " has ", info.batchAxes.size(), " batch axes, expected ",
           count);
  });
  model.mixingLayouts = root.value(keys::kMixingLayouts, std::vector<bool>());
  model.mixingLayouts.resize(count);
  chooseLayout(model, 0);
}

/// Weights have the layout of the target.
static void parseWeights(const Model &model, LossInfo &loss,
                         const std::vector<std::string> &arguments) {
  ArrayInfo weight = *loss.target;
  weight.name = "weight" + model.suffixOf(loss);
  weight.dtype = DType::F32;
  weight.classes.reset();
  if (std::find(arguments.begin(), arguments.end(), weight.name) == arguments.end())
    return;
  loss.readsWeight =
      std::none_of(model.inputs.begin(), model.inputs.end(),
                   [&](const ArrayInfo &input) { return input.name == weight.name; });
  loss.weight = std::move(weight);
}

static void parseLosses(Model &model, const json &root) {
  model.ignoreIndex = optionalInteger(root, keys::kIgnoreIndex);
  model.classWeights = root.value(keys::kClassWeights, std::vector<float>());
  for (const json &object : root.at(keys::kLosses)) {
    LossInfo loss;
    loss.kind = object.at(keys::kLoss).get<std::string>();
    loss.output = object.at(keys::kOutput).get<std::string>();
    loss.factor = object.value(keys::kFactor, 1.0);
    if (auto found = object.find(keys::kTargetArray); found != object.end() && !found->is_null())
      loss.target = parseArray(*found, model.symbols);
    model.losses.push_back(std::move(loss));
  }
  if (model.losses.empty())
    fail("there is no loss");
  auto arguments = root.at(keys::kFunctions).at("eval").get<std::vector<std::string>>();
  for (LossInfo &loss : model.losses) {
    if (!loss.target)
      continue;
    loss.target->name = "target" + model.suffixOf(loss);
    parseWeights(model, loss, arguments);
    for (const ArrayInfo &input : model.inputs)
      if (input.name == loss.target->name)
        fail("a graph input is named ", quote(input.name), ", the name of the loss's array");
  }
}

static cost::HostChain parseHostChain(const json &object) {
  cost::HostChain chain;
  chain.rows = object.at(keys::kRows).get<int64_t>();
  chain.columns = object.at(keys::kColumns).get<int64_t>();
  chain.hasOffset = object.at(keys::kHasOffset).get<bool>();
  chain.linkOperations = object.at(keys::kLinkOperations).get<int64_t>();
  chain.columnOperations = object.at(keys::kColumnOperations).get<int64_t>();
  chain.depth = object.at(keys::kDepth).get<int64_t>();
  chain.unitOperations = object.at(keys::kUnitOperations).get<int64_t>();
  chain.unitDepth = object.at(keys::kUnitDepth).get<int64_t>();
  chain.bytes = object.at(keys::kBytes).get<int64_t>();
  return chain;
}

static TracedNode parseTracedNode(const json &object) {
  return {object.at(keys::kNode).get<std::string>(), object.at(keys::kOp).get<std::string>(),
          object.at(keys::kBackward).get<bool>(), object.at(keys::kInLoop).get<bool>(),
          object.at(keys::kGroup).get<int64_t>()};
}

static Model parse(const json &root, uint64_t onnxSize) {
  if (json found = root.value(keys::kSchema, json()); found != kSchemaVersion)
    fail("found schema ", found.dump(), ", expected schema ", kSchemaVersion);
  Model model;
  model.version = root.value(keys::kVersion, "");
  model.source = root.value(keys::kSource, "");
  model.target = root.value(keys::kTarget, "cpu");
  model.precision = root.value(keys::kPrecision, "fp32");
  model.optimizer = root.at(keys::kOptimizer).get<std::string>();
  model.symbols = root.at(keys::kSymbols).get<std::vector<std::string>>();
  auto least = root.value(keys::kMinSizes, std::map<std::string, int64_t>());
  for (const std::string &symbol : model.symbols)
    model.minSizes.push_back(least.count(symbol) ? least.at(symbol) : 1);
  for (const json &input : root.at(keys::kInputs))
    model.inputs.push_back(parseArray(input, model.symbols));
  for (const json &output : root.at(keys::kOutputs))
    model.outputs.push_back(parseArray(output, model.symbols));
  parseLosses(model, root);
  parseLayouts(model, root);
  for (const json &parameter : root.at(keys::kParameters))
    model.parameters.push_back(parseParameter(parameter, onnxSize));
  for (const json &variant : root.at(keys::kVariants))
    model.variants.push_back({variant.at(keys::kName).get<std::string>(),
                              variant.at(keys::kBackward).get<std::string>(),
                              variant.value(keys::kPlan, ""),
                              variant.value(keys::kMapping, bppsa::program::mappings::kLanes)});
  for (const json &chain : root.value(keys::kDeviceChains, json::array()))
    model.deviceChains.push_back(parseChain(chain));
  for (const json &chain : root.value(keys::kHostChains, json::array()))
    model.hostChains.push_back(parseHostChain(chain));
  model.memoryLimit = root.value(keys::kMemoryLimit, int64_t(0));
  model.optimizerStates = root.at(keys::kOptimizerStates).get<int64_t>();
  model.hyper = root.at(keys::kHyper).get<std::map<std::string, double>>();
  model.flopsPerPosition = root.value(keys::kFlopsPerPosition, int64_t(0));
  model.functions =
      root.at(keys::kFunctions).get<std::map<std::string, std::vector<std::string>>>();
  model.splitsBackward = root.value(keys::kSplitBackward, false);
  model.pipelineRanks = root.value(keys::kPipeline, int64_t(0));
  for (const json &stage : root.value(keys::kStages, json::array()))
    model.stages.push_back(
        {stage.at(keys::kRank).get<int>(), stage.at(keys::kForward).get<double>(),
         stage.at(keys::kCotangents).get<double>(), stage.at(keys::kParameters).get<double>(),
         stage.value(keys::kReads, std::vector<std::string>())});
  const json traced = root.value(keys::kTracedNodes, json::object());
  for (const auto &[name, nodes] : traced.items())
    for (const json &node : nodes)
      model.tracedNodes[name].push_back(parseTracedNode(node));
  model.areModules = root.value(keys::kModules, false);
  model.sharesStatistics = root.value(keys::kSyncBn, false);
  model.shardScans = root.value(keys::kShardScans, std::vector<int64_t>());
  model.firstUses = root.value(keys::kFirstUses, std::map<std::string, std::vector<std::string>>());
  return model;
}

Model bppsa::runtime::parseModel(const std::string &text, uint64_t onnxSize) {
  try {
    return parse(json::parse(text), onnxSize);
  } catch (const std::exception &error) {
    fail("this program's description of its model cannot be used: ", error.what(),
         "; compile the model again");
  }
}

void bppsa::runtime::setBatchAxes(Model &model, const std::vector<std::string> &assignments) {
  BatchLayouts choice(model.mixingLayouts.size());
  for (const std::string &assignment : assignments) {
    auto request = BatchAxisRequest::parse(assignment);
    if (!request)
      throw UsageError(text("--batch-axis: found ", quote(assignment), ", expected NAME:AXIS"));
    const ArrayInfo *found = nullptr;
    forEachArray(model, [&](const ArrayInfo &info) {
      if (!found && info.name == request->name)
        found = &info;
    });
    if (!found)
      fail("--batch-axis: the model has no input or output ", quote(request->name),
           "; the command `info` lists them");
    std::string wrong = choice.require(found->batchAxes, request->axis, quote(request->name));
    if (!wrong.empty())
      fail(wrong);
  }
  chooseLayout(model, choice.choose());
}
