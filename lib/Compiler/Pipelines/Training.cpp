//===- Training.cpp - pipelines for training functions --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Compiler/Pipelines/Training.h"
#include "KernelStages.h"
#include "bppsa/Dialect/BGPU/Transforms/Streams/Passes.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
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
  // Set all attributes at once: changing a single argument copies the whole list.
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
  // Joined sequences mix steps of samples, which time shards do not support.
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

static void addDifferentiation(OpPassManager &pm, const TrainingOptions &options, StringRef of,
                               EntryRole role, StringRef wrt) {
  DifferentiateOptions differentiate;
  differentiate.of = of.str();
  differentiate.role = stringifyEntryRole(role).str();
  differentiate.variant = options.getVariants().front().name;
  differentiate.wrt = wrt.str();
  differentiate.links = options.hasLayerLinks();
  if (role == EntryRole::Pullback)
    differentiate.cotangents.assign(options.lossOn.begin(), options.lossOn.end());
  pm.addPass(createDifferentiate(differentiate));
}

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

static void addShards(OpPassManager &pm, const TrainingOptions &options) {
  if (options.shardTime) {
    pm.addPass(createShardTime());
    addDifferentiation(pm, options, "sharded_loss", EntryRole::Shard, "states");
  }
  if (options.hasBidirectionalShards) {
    ShardTimeOptions late;
    late.name = "late_sharded_loss";
    late.reversedFirst = true;
    pm.addPass(createShardTime(late));
    addDifferentiation(pm, options, late.name, EntryRole::LateShard, "parameters");
  }
}

void bppsa::buildDifferentiationPipeline(OpPassManager &pm, const TrainingOptions &options) {
  // A step applies dropout; `grad` is the gradient of the function that `eval` computes.
  pm.addPass(createSpecializeTraining());
  std::string trained = addInterlocking(pm, options, "training_loss");
  std::string evaluated = addInterlocking(pm, options, "loss");
  addDifferentiation(pm, options, trained, EntryRole::Step, "parameters");
  addDifferentiation(pm, options, evaluated, EntryRole::Grad, "all");
  if (options.hasPullbacks())
    addDifferentiation(pm, options, "forward", EntryRole::Pullback, "all");
  addShards(pm, options);
  BuildOptimizerOptions optimizer;
  optimizer.optimizer = options.optimizer;
  if (options.target == TargetKind::CUDA)
    optimizer.lanes = 1;
  pm.addPass(createBuildOptimizer(optimizer));
  pm.addPass(createSymbolDCEPass());
  addCleanup(pm);
  std::vector<Variant> variants = options.getVariants();
  if (options.tracesNaNs)
    pm.addPass(createTraceNaNs());
  if (options.interlock)
    pm.addNestedPass<func::FuncOp>(createMergeRecurrences());
  if (options.scanShards)
    pm.addPass(createScanShards());
  // Variants only differ in their plans, which are assigned later.
  for (const Variant &variant : ArrayRef(variants).drop_front())
    pm.addPass(createCopyVariant({variants.front().name, variant.name}));
}

static void addPlan(OpPassManager &pm, const TrainingOptions &options, const Variant &variant) {
  bool isSequential = variant.plan.empty();
  if (!isSequential)
    pm.addPass(createScan({variant.plan, variant.name}));
  if (!options.hasLayerLinks())
    return;
  ScanLinksOptions links;
  links.algorithm = isSequential ? "none" : variant.plan;
  links.variant = variant.name;
  links.memoryLimit = options.getJacobianLimit();
  links.denseJacobians = !isSequential && options.jacobians == "dense";
  pm.addPass(createScanLinks(links));
}

static void addBackwardOrder(OpPassManager &pm, const TrainingOptions &options) {
  if (options.backwardOrder.empty())
    return;
  ScheduleBackwardOptions schedule;
  schedule.order = options.backwardOrder;
  schedule.memoryLimit = options.memoryLimit.value_or(0);
  pm.addNestedPass<func::FuncOp>(createSplitBackward());
  pm.addNestedPass<func::FuncOp>(createScheduleBackward(schedule));
}

static void addStages(OpPassManager &pm, const TrainingOptions &options) {
  int64_t numStages = options.getNumStages();
  if (numStages == 0)
    return;
  // Split the whole step, because the dependence of cotangents on the loss is not visible in
  // stages.
  if (options.splitBackward)
    pm.addNestedPass<func::FuncOp>(createSplitBackward());
  pm.addPass(createAssignStages({numStages}));
  if (options.interlock)
    pm.addNestedPass<func::FuncOp>(createStreamCotangents());
  pm.addPass(createCutStages({numStages}));
  if (options.splitBackward)
    pm.addPass(createDeferWeights());
}

void bppsa::buildScanPipeline(OpPassManager &pm, const TrainingOptions &options) {
  for (const Variant &variant : options.getVariants())
    addPlan(pm, options, variant);
  if (options.target == TargetKind::CPU)
    pm.addNestedPass<func::FuncOp>(createSparsifyProducts());
  PlanSparseProductsOptions products;
  products.memoryLimit = options.getJacobianLimit();
  pm.addNestedPass<func::FuncOp>(createPlanSparseProducts(products));
  pm.addNestedPass<func::FuncOp>(createLowerProducts());
  addStages(pm, options);
  addBackwardOrder(pm, options);
  if (options.target == TargetKind::CPU)
    pm.addPass(createAddUnitVariants({options.mayAutoChooseScans()}));
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
