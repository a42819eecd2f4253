//===- Training.cpp - from an imported graph to training functions --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Compiler/Pipelines/Training.h"
#include "KernelStages.h"
#include "bppsa/Dialect/BGPU/Transforms/Streams/Passes.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/Transforms/BackwardOrder/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Scan/Passes.h"
#include "bppsa/Dialect/Dist/Transforms/Passes.h"
#include "bppsa/Dialect/Jacobian/Transforms/Passes.h"
#include "bppsa/Differentiation/Passes.h"
#include "bppsa/Support/NamePattern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace bppsa;

LogicalResult bppsa::freezeParameters(ModuleOp module, StringRef pattern,
                                      ArrayRef<std::string> constantWeights) {
  if (pattern.empty())
    return success();
  std::string wrong;
  llvm::Regex regex = compilePattern("--freeze", pattern, wrong);
  if (!wrong.empty())
    return module.emitError() << wrong;
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  bool matched =
      llvm::any_of(constantWeights, [&](const std::string &name) { return regex.match(name); });
  // All at once: each change of one argument makes a new list of all of them.
  SmallVector<DictionaryAttr> arguments;
  for (unsigned i = 0, e = forward.getNumArguments(); i < e; ++i) {
    NamedAttrList attributes(forward.getArgAttrDict(i));
    auto name = attrs::Parameter::ofArgument(forward, i);
    if (name && regex.match(name.getValue())) {
      attrs::Frozen::set(attributes, UnitAttr::get(module.getContext()));
      attributes.erase(attrs::Statistic::getName());
      matched = true;
    }
    arguments.push_back(attributes.getDictionary(module.getContext()));
  }
  forward.setAllArgAttrs(arguments);
  if (!matched)
    return module.emitError() << "--freeze='" << pattern
                              << "' matches no float initializer of the model";
  return success();
}

void bppsa::buildLossPipeline(OpPassManager &pm, const TrainingOptions &options) {
  // Joined sequences mix steps of samples, which ranks with shares of the steps do not have.
  if (options.target == TargetKind::CPU && !options.shardTime)
    pm.addNestedPass<func::FuncOp>(createJoinSequences());
  AddLossOptions loss;
  loss.losses.assign(options.losses.begin(), options.losses.end());
  loss.outputs.assign(options.lossOn.begin(), options.lossOn.end());
  loss.factors.assign(options.lossWeights.begin(), options.lossWeights.end());
  loss.weights = true;
  loss.classWeights.assign(options.classWeights.begin(), options.classWeights.end());
  loss.labelSmoothing = options.labelSmoothing;
  loss.shares = options.shardTime;
  pm.addPass(createAddLoss(loss));
  pm.addPass(createKernelCanonicalizer());
  pm.addNestedPass<func::FuncOp>(createSliceEarly());
  pm.addNestedPass<func::FuncOp>(createRaiseProducts());
}

/// Adds the pass that makes `@<name>` from `@<of>`.
static void addDifferentiation(OpPassManager &pm, StringRef of, StringRef name, StringRef wrt,
                               bool links) {
  DifferentiateOptions differentiate;
  differentiate.of = of.str();
  differentiate.name = name.str();
  differentiate.wrt = wrt.str();
  differentiate.links = links;
  pm.addPass(createDifferentiate(differentiate));
}

/// Adds the pass that makes `@<name>` of `@forward` and the cotangents of its outputs.
static void addPullback(OpPassManager &pm, const TrainingOptions &options, StringRef name) {
  DifferentiateOptions differentiate;
  differentiate.of = "forward";
  differentiate.name = name.str();
  differentiate.wrt = "all";
  differentiate.links = options.hasLayerLinks();
  differentiate.cotangents.assign(options.lossOn.begin(), options.lossOn.end());
  pm.addPass(createDifferentiate(differentiate));
}

/// The names that functions which a variant has begin with.
static std::vector<std::string> getFunctionPrefixes(const TrainingOptions &options) {
  std::vector<std::string> prefixes = {"step_", "grad_"};
  if (options.hasPullbacks())
    prefixes.push_back("pullback_");
  llvm::append_range(prefixes, options.getShardPrefixes());
  return prefixes;
}

/// Adds the pass that gives `variant` copies of the functions of `other`.
static void addCopies(OpPassManager &pm, const TrainingOptions &options, const Variant &other,
                      const Variant &variant) {
  CopyFunctionsOptions copies;
  for (const std::string &prefix : getFunctionPrefixes(options)) {
    copies.functions.push_back(prefix + other.name);
    copies.names.push_back(prefix + variant.name);
  }
  pm.addPass(createCopyFunctions(copies));
}

/// Adds the passes that give `variant` copies of its functions of shares which scan over ranks.
static void addShardScans(OpPassManager &pm, const TrainingOptions &options,
                          const Variant &variant) {
  CopyFunctionsOptions copies;
  for (StringRef prefix : options.getShardPrefixes()) {
    std::string name = prefix.str() + variant.name;
    if (!prefix.consume_front(TrainingOptions::kScanPrefix))
      continue;
    copies.functions.push_back(prefix.str() + variant.name);
    copies.names.push_back(name);
  }
  ScanShardsOptions scan;
  scan.functions = copies.names;
  pm.addPass(createCopyFunctions(copies));
  pm.addPass(createScanShards(scan));
}

/// Adds the pass that makes of `function` what is differentiated in its place. Returns the name.
static std::string addInterlocking(OpPassManager &pm, const TrainingOptions &options,
                                   StringRef function) {
  if (!options.interlock)
    return function.str();
  InterlockOptions interlock;
  interlock.of = function.str();
  interlock.name = "interlocked_" + function.str();
  interlock.window = *options.interlock;
  if (!options.interlockCombine.empty())
    interlock.combine = options.interlockCombine;
  interlock.factors.assign(options.lossWeights.begin(), options.lossWeights.end());
  pm.addPass(createInterlock(interlock));
  return interlock.name;
}

void bppsa::buildDifferentiationPipeline(OpPassManager &pm, const TrainingOptions &options) {
  // A step drops elements where the model has dropout; `grad` is the gradient of
  // what `eval` computes.
  pm.addPass(createSpecializeTraining());
  std::vector<Variant> variants = options.getVariants();
  const Variant &first = variants.front();
  bool links = options.hasLayerLinks();
  std::string trained = addInterlocking(pm, options, "training_loss");
  std::string evaluated = addInterlocking(pm, options, "loss");
  addDifferentiation(pm, trained, "step_" + first.name, "parameters", links);
  addDifferentiation(pm, evaluated, "grad_" + first.name, "all", links);
  if (options.hasPullbacks())
    addPullback(pm, options, "pullback_" + first.name);
  if (options.shardTime) {
    pm.addPass(createShardTime());
    addDifferentiation(pm, "sharded_loss", "shard_" + first.name, "states", links);
  }
  if (options.shardsBothWays) {
    ShardTimeOptions late;
    late.name = "late_sharded_loss";
    late.reversedFirst = true;
    pm.addPass(createShardTime(late));
    addDifferentiation(pm, late.name, "late_shard_" + first.name, "parameters", links);
  }
  BuildOptimizerOptions optimizer;
  optimizer.optimizer = options.optimizer;
  if (options.target == TargetKind::CUDA)
    optimizer.lanes = 1;
  pm.addPass(createBuildOptimizer(optimizer));
  pm.addPass(createSymbolDCEPass());
  addCleanup(pm);
  if (options.tracesNaNs) {
    pm.addPass(createTraceNaNs({"step_" + first.name, "nans_step"}));
    pm.addPass(createTraceNaNs({"grad_" + first.name, "nans_grad"}));
  }
  if (options.interlock)
    pm.addNestedPass<func::FuncOp>(createMergeRecurrences());
  if (options.scanShards)
    addShardScans(pm, options, first);
  // Plans, which come later, are all that variants differ in.
  for (const Variant &variant : ArrayRef(variants).drop_front())
    addCopies(pm, options, first, variant);
}

/// Adds the passes that give the chains of `function` the plan of `variant`.
static void addPlan(OpPassManager &pm, const TrainingOptions &options, const Variant &variant,
                    const std::string &function) {
  bool isSequential = variant.plan.empty();
  if (!isSequential)
    pm.addPass(createScan({variant.plan, function}));
  if (!options.hasLayerLinks())
    return;
  ScanLinksOptions links;
  links.algorithm = isSequential ? "none" : variant.plan;
  links.function = function;
  links.memoryLimit = options.getJacobianLimit();
  links.denseJacobians = !isSequential && options.jacobians == "dense";
  pm.addPass(createScanLinks(links));
}

/// Adds the passes that order the backward passes, once it is settled what they are made of.
static void addBackwardOrder(OpPassManager &pm, const TrainingOptions &options) {
  if (options.backwardOrder.empty())
    return;
  ScheduleBackwardOptions schedule;
  schedule.order = options.backwardOrder;
  schedule.memoryLimit = options.memoryLimit.value_or(0);
  pm.addNestedPass<func::FuncOp>(createSplitBackward());
  pm.addNestedPass<func::FuncOp>(createScheduleBackward(schedule));
}

/// Adds the passes that cut the steps of `variants` into stages. Returns the names of the functions
/// that they make.
static std::vector<std::string> addStages(OpPassManager &pm, const TrainingOptions &options,
                                          const std::vector<Variant> &variants) {
  int64_t numStages = options.getNumStages();
  if (numStages == 0)
    return {};
  AssignStagesOptions assign;
  CutStagesOptions cut;
  assign.stages = cut.stages = numStages;
  std::vector<std::string> made;
  for (const Variant &variant : variants) {
    std::string step = "step_" + variant.name;
    assign.functions.push_back(step);
    cut.functions.push_back(step);
    for (int64_t stage = 0; stage < numStages; ++stage)
      made.push_back(variant.getStageSymbol(stage));
  }
  // The whole step tells what its stages need no more: there cotangents depend on the loss.
  if (options.splitBackward)
    pm.addNestedPass<func::FuncOp>(createSplitBackward());
  pm.addPass(createAssignStages(assign));
  if (options.interlock)
    pm.addNestedPass<func::FuncOp>(createStreamCotangents());
  pm.addPass(createCutStages(cut));
  if (options.splitBackward) {
    DeferWeightsOptions defer;
    defer.functions.assign(made.begin(), made.end());
    pm.addPass(createDeferWeights(defer));
  }
  return made;
}

void bppsa::buildScanPipeline(OpPassManager &pm, const TrainingOptions &options) {
  for (const Variant &variant : options.getVariants())
    for (const std::string &prefix : getFunctionPrefixes(options))
      addPlan(pm, options, variant, prefix + variant.name);
  if (options.target == TargetKind::CPU)
    pm.addNestedPass<func::FuncOp>(createSparsifyProducts());
  PlanSparseProductsOptions products;
  products.memoryLimit = options.getJacobianLimit();
  pm.addNestedPass<func::FuncOp>(createPlanSparseProducts(products));
  pm.addNestedPass<func::FuncOp>(createLowerProducts());
  std::vector<std::string> stages = addStages(pm, options, options.getVariants());
  addBackwardOrder(pm, options);
  if (options.target != TargetKind::CPU)
    return;
  AddUnitVariantsOptions units;
  units.functions = {"forward"};
  units.functions.insert(units.functions.end(), stages.begin(), stages.end());
  for (const std::string &prefix : getFunctionPrefixes(options)) {
    units.functions.push_back(prefix + "sequential");
    units.scans.push_back(prefix + "scan");
  }
  units.hopeful = options.leavesScansToAuto();
  pm.addPass(createAddUnitVariants(units));
}

void bppsa::registerTrainingPipelines() {
  PassPipelineRegistration<>(
      "bppsa-training-pipeline",
      "Adds loss, training functions and scans with the compiler's default options",
      [](OpPassManager &pm) {
        TrainingOptions options;
        buildLossPipeline(pm, options);
        buildDifferentiationPipeline(pm, options);
        buildScanPipeline(pm, options);
      });
}
