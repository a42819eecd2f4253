//===- ModelDescription.cpp - description of a program --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Target/ModelDescription.h"
#include "DescribedArrays.h"
#include "FlopCount.h"
#include "bppsa/CostModel/DeviceCosts.h"
#include "bppsa/CostModel/HostCosts.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSASchedule.h"
#include "bppsa/Differentiation/Passes.h"
#include "bppsa/Program/Keys.h"
#include "bppsa/Program/Mappings.h"
#include "bppsa/Program/Optimizers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace bppsa;
namespace json = llvm::json;
namespace keys = program::keys;

static StringRef getMapping(const Variant &variant, TargetKind target) {
  if (target == TargetKind::CUDA)
    return program::mappings::kBlocks;
  if (!variant.forSmallBatches)
    return program::mappings::kLanes;
  return variant.plan.empty() ? program::mappings::kUnits : program::mappings::kChunks;
}

static json::Object describeParameter(const OnnxImage::Parameter &parameter, bool isTrained,
                                      bool isUpdated, bool isPruned,
                                      ArrayRef<FrozenRow> frozenRows) {
  json::Object object{{keys::kName, parameter.name},
                      {keys::kShape, json::Array(parameter.shape)},
                      {keys::kTrained, isTrained},
                      {keys::kOffset, static_cast<int64_t>(parameter.offset)},
                      {keys::kStride, static_cast<int64_t>(parameter.stride)}};
  if (isUpdated)
    object[keys::kStatistic] = true;
  if (isPruned)
    object[keys::kPruned] = true;
  json::Array rows;
  for (const FrozenRow &row : frozenRows)
    if (row.name == parameter.name)
      rows.push_back(row.row);
  if (!rows.empty())
    object[keys::kFrozenRows] = std::move(rows);
  return object;
}

/// Returns the inputs of the run time's prediction of variant times
/// (bppsa/CostModel/Machines/DeviceCost.h).
static json::Array describeDeviceChains(func::FuncOp step) {
  json::Array chains;
  for (const auto &[chain, link, columns] : getDeviceChains(step)) {
    json::Object object{{keys::kRows, chain.rows},
                        {keys::kColumns, chain.columns},
                        {keys::kHasOffset, chain.hasOffset},
                        {keys::kSavedBytes, chain.savedBytes},
                        {keys::kEmittedBytes, chain.emittedBytes}};
    for (auto [name, work] : llvm::zip_equal(cost::workNames, chain.steps))
      object[name] = json::Object{{keys::kCycles, work.cycles},
                                  {keys::kInstructions, work.instructions},
                                  {keys::kWarps, work.warps},
                                  {keys::kResident, work.resident},
                                  {keys::kColumns, work.columns}};
    (*object.getObject("walk"))[keys::kMapping] = link.toString();
    (*object.getObject("column"))[keys::kMapping] = columns.toString();
    chains.push_back(std::move(object));
  }
  return chains;
}

/// Returns the counts by which the run time rules out scans on CPUs
/// (bppsa/CostModel/Machines/HostCost.h).
static json::Array describeHostChains(func::FuncOp step) {
  json::Array chains;
  for (const cost::HostChain &chain : getHostCosts(step))
    chains.push_back(json::Object{{keys::kRows, chain.rows},
                                  {keys::kColumns, chain.columns},
                                  {keys::kHasOffset, chain.hasOffset},
                                  {keys::kLinkOperations, chain.linkOperations},
                                  {keys::kColumnOperations, chain.columnOperations},
                                  {keys::kDepth, chain.depth},
                                  {keys::kUnitOperations, chain.unitOperations},
                                  {keys::kUnitDepth, chain.unitDepth},
                                  {keys::kBytes, chain.bytes}});
  return chains;
}

static json::Object describeBackwardOrder(BackwardOrderAttr order) {
  return json::Object{{keys::kOrder, order.getOrder()},
                      {keys::kPeakBytes, order.getPeak()},
                      {keys::kInOrderPeakBytes, order.getInOrderPeak()}};
}

static json::Array describeRolledUp(ArrayRef<RolledUpLoop> loops) {
  json::Array described;
  for (const RolledUpLoop &loop : loops)
    described.push_back(
        json::Object{{keys::kSteps, loop.steps}, {keys::kNodes, json::Array(loop.nodes)}});
  return described;
}

static json::Array describeReads(func::FuncOp stage, func::FuncOp step) {
  llvm::DenseSet<Attribute> trained, own;
  for (unsigned i = 0, e = step.getNumResults(); i < e; ++i)
    trained.insert(attrs::Gradient::ofResult(step, i));
  for (unsigned i = 0, e = stage.getNumResults(); i < e; ++i)
    own.insert(attrs::Gradient::ofResult(stage, i));
  json::Array reads;
  for (BlockArgument argument : stage.getArguments()) {
    StringAttr name = attrs::Parameter::ofArgument(stage, argument.getArgNumber());
    if (name && !argument.use_empty() && trained.contains(name) && !own.contains(name))
      reads.push_back(name.getValue());
  }
  return reads;
}

static json::Array describeStages(ModuleOp module, const TrainingOptions &options) {
  json::Array stages;
  Variant first = options.getVariants().front();
  func::FuncOp step = findFunction(module, EntryRole::Step, first);
  for (auto [number, rank] : llvm::enumerate(options.getStagePlacement())) {
    func::FuncOp stage = findEntry(module, attrs::Entry::of(step).withStage(number));
    auto work = attrs::StageWork::of(stage);
    json::Object described{{keys::kRank, rank},
                           {keys::kForward, work[0]},
                           {keys::kCotangents, work[1]},
                           {keys::kParameters, work[2]}};
    if (json::Array reads = describeReads(stage, step); !reads.empty())
      described[keys::kReads] = std::move(reads);
    stages.push_back(std::move(described));
  }
  return stages;
}

static json::Object describeMinSizes(SymbolsAttr symbols) {
  json::Object sizes;
  for (auto [name, size] : llvm::zip_equal(symbols.getNames(), symbols.getMinSizes()))
    if (size > 1)
      sizes[name.getValue()] = size;
  return sizes;
}

static json::Object describeHyperParameters(const program::Optimizer &optimizer) {
  json::Object hyper;
  for (const program::HyperParameter &parameter : optimizer.hyper)
    hyper[parameter.key] = parameter.value;
  return hyper;
}

static json::Array describeTracedNodes(func::FuncOp function) {
  json::Array entries;
  for (auto entry : function->getAttrOfType<ArrayAttr>(kTracedNodes).getAsRange<DictionaryAttr>()) {
    auto text = [&](StringRef key) { return entry.getAs<StringAttr>(key).getValue(); };
    entries.push_back(json::Object{{keys::kNode, text("node")},
                                   {keys::kOp, text("op")},
                                   {keys::kBackward, entry.getAs<BoolAttr>("backward").getValue()},
                                   {keys::kInLoop, entry.getAs<BoolAttr>("in_loop").getValue()},
                                   {keys::kGroup, entry.getAs<IntegerAttr>("group").getInt()}});
  }
  return entries;
}

json::Value bppsa::describeModel(ModuleOp module, const OnnxImage &image, StringRef sourceName,
                                 const TrainingOptions &options,
                                 ArrayRef<ExportedFunction> functions,
                                 ArrayRef<RolledUpLoop> rolledUp) {
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  SymbolsAttr modelSymbols = attrs::Symbols::of(module);
  SmallVector<StringRef> symbols =
      llvm::map_to_vector(modelSymbols.getNames(), [](StringAttr name) { return name.getValue(); });

  json::Array inputs, outputs, parameters, variants;
  llvm::StringSet<> frozen, pruned;
  for (unsigned i = 0, e = forward.getNumArguments(); i < e; ++i) {
    DictionaryAttr attributes = forward.getArgAttrDict(i);
    if (StringAttr name = attrs::Input::in(attributes)) {
      Type type = forward.getArgumentTypes()[i];
      json::Object input = describeArray(name, type, attributes, symbols);
      input[keys::kGradient] = isa<FloatType>(cast<ShapedType>(type).getElementType());
      if (AffineMapAttr bounds = attrs::IndexBounds::in(attributes))
        input[keys::kIndexBounds] = describeSizes(bounds, symbols);
      if (AffineMapAttr bounds = attrs::LengthBounds::in(attributes))
        input[keys::kLengthBounds] = describeSizes(bounds, symbols);
      inputs.push_back(std::move(input));
      continue;
    }
    StringAttr name = attrs::Parameter::in(attributes);
    if (name && attrs::Frozen::in(attributes))
      frozen.insert(name.getValue());
    if (name && attrs::Nonzeros::in(attributes))
      pruned.insert(name.getValue());
  }
  for (unsigned i = 0, e = forward.getNumResults(); i < e; ++i) {
    DictionaryAttr attributes = forward.getResultAttrDict(i);
    StringAttr name = attrs::Output::in(attributes);
    json::Object output = describeArray(name, forward.getResultTypes()[i], attributes, symbols);
    outputs.push_back(std::move(output));
  }
  func::FuncOp firstStep = findFunction(module, EntryRole::Step, options.getVariants().front());
  llvm::StringSet<> updated;
  for (unsigned i = 0, e = firstStep.getNumResults(); i < e; ++i)
    if (StringAttr name = attrs::Updated::ofResult(firstStep, i))
      updated.insert(name.getValue());
  for (const OnnxImage::Parameter &parameter : image.parameters)
    parameters.push_back(describeParameter(parameter, !frozen.contains(parameter.name),
                                           updated.contains(parameter.name),
                                           pruned.contains(parameter.name), options.frozenRows));
  for (const Variant &variant : getVariantsIn(module, options)) {
    json::Object object{{keys::kName, variant.getExportedName()},
                        {keys::kBackward, variant.name},
                        {keys::kMapping, getMapping(variant, options.target)}};
    if (!variant.plan.empty())
      object[keys::kPlan] = variant.plan;
    if (auto order = attrs::BackwardOrder::of(findFunction(module, EntryRole::Step, variant)))
      object[keys::kBackwardOrder] = describeBackwardOrder(order);
    variants.push_back(std::move(object));
  }
  json::Array mixing;
  if (auto layouts = attrs::MixingLayouts::of(forward))
    llvm::append_range(mixing, layouts.asArrayRef());
  json::Object table, firstUses;
  for (const ExportedFunction &function : functions) {
    table[function.name] = json::Array(function.arguments);
    if (!function.firstUses.empty())
      firstUses[function.name] = json::Array(function.firstUses);
  }

  json::Array losses = describeLosses(options, outputs);
  const program::Optimizer &optimizer =
      *program::findNamed(program::kOptimizers, options.optimizer);
  json::Object description{{keys::kSchema, program::kSchemaVersion},
                           {keys::kVersion, BPPSA_VERSION},
                           {keys::kSource, sourceName},
                           {keys::kTarget, options.target == TargetKind::CUDA ? "cuda" : "cpu"},
                           {keys::kLosses, std::move(losses)},
                           {keys::kOptimizer, options.optimizer},
                           {keys::kSymbols, json::Array(symbols)},
                           {keys::kMinSizes, describeMinSizes(modelSymbols)},
                           {keys::kInputs, std::move(inputs)},
                           {keys::kOutputs, std::move(outputs)},
                           {keys::kMixingLayouts, std::move(mixing)},
                           {keys::kParameters, std::move(parameters)},
                           {keys::kVariants, std::move(variants)},
                           {keys::kMemoryLimit, options.getLoopLimit()},
                           {keys::kRolledUp, describeRolledUp(rolledUp)},
                           {keys::kOptimizerStates, optimizer.numStates},
                           {keys::kHyper, describeHyperParameters(optimizer)},
                           {keys::kFlopsPerPosition, countFlopsPerPosition(firstStep)},
                           {keys::kFunctions, std::move(table)}};
  if (options.tracesNaNs) {
    description[keys::kTracedNodes] = json::Object{
        {"step", describeTracedNodes(findEntries(module, EntryRole::StepNaNs).front())},
        {"grad", describeTracedNodes(findEntries(module, EntryRole::GradNaNs).front())}};
  }
  if (!firstUses.empty())
    description[keys::kFirstUses] = std::move(firstUses);
  if (options.pipelineRanks) {
    description[keys::kPipeline] = *options.pipelineRanks;
    description[keys::kStages] = describeStages(module, options);
    if (options.interlock)
      description[keys::kModules] = true;
  }
  if (options.splitBackward)
    description[keys::kSplitBackward] = true;
  if (options.scanShards)
    description[keys::kShardScans] = json::Array(getShardScans(module));
  if (options.syncBatchNorm)
    description[keys::kSyncBn] = true;
  if (options.ignoreIndex)
    description[keys::kIgnoreIndex] = *options.ignoreIndex;
  if (!options.classWeights.empty())
    description[keys::kClassWeights] = json::Array(options.classWeights);
  if (options.labelSmoothing != 0)
    description[keys::kLabelSmoothing] = options.labelSmoothing;
  if (options.target == TargetKind::CUDA) {
    description[keys::kPrecision] = options.precision;
    description[keys::kDeviceChains] = describeDeviceChains(firstStep);
  } else {
    description[keys::kHostChains] = describeHostChains(firstStep);
  }
  return description;
}
