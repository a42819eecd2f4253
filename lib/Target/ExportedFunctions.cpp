//===- ExportedFunctions.cpp - exported functions of a program ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSASchedule.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "bppsa/Target/ModelDescription.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace bppsa;

static std::string describeArgument(DictionaryAttr attributes, const llvm::StringSet<> &inputs) {
  if (StringAttr name = attrs::Input::in(attributes))
    return "input:" + name.str();
  if (StringAttr name = attrs::Parameter::in(attributes))
    return "param:" + name.str();
  if (StringAttr name = attrs::Output::in(attributes))
    return "output:" + name.str();
  if (StringAttr name = attrs::Gradient::in(attributes))
    return (inputs.contains(name.getValue()) ? "input_grad:" : "grad:") + name.str();
  if (StringAttr name = attrs::Updated::in(attributes))
    return "updated:" + name.str();
  if (StringAttr name = attrs::Cotangent::in(attributes))
    return "cotangent:" + name.str();
  if (attrs::Target::in(attributes))
    return "target";
  if (attrs::Weight::in(attributes))
    return "weight";
  if (attrs::Loss::in(attributes))
    return "loss";
  if (attrs::Correct::in(attributes))
    return "correct";
  assert(attrs::Seed::in(attributes) && "an argument of an exported function has no role");
  return "seed";
}

/// Appends output names to the individual losses, as in `target.y`, which follow the sum. Only the
/// last stage has the sum.
static void nameLosses(MutableArrayRef<std::string> arguments, ArrayRef<LossTerm> losses,
                       std::optional<int64_t> stage) {
  if (losses.size() == 1)
    return;
  auto name = [&](StringRef word, bool hasSum, function_ref<bool(const LossTerm &)> isNamed) {
    const LossTerm *loss = losses.begin() + (word == "loss" ? stage.value_or(0) : 0);
    for (std::string &argument : arguments) {
      if (argument != word || std::exchange(hasSum, false))
        continue;
      loss = std::find_if(loss, losses.end(), isNamed);
      argument += "." + (loss++)->output;
    }
  };
  auto hasTarget = [](const LossTerm &loss) { return loss.hasTarget(); };
  name("target", /*hasSum=*/false, hasTarget);
  name("weight", /*hasSum=*/false, hasTarget);
  bool hasSum = !stage || *stage + 1 == static_cast<int64_t>(losses.size());
  name("loss", hasSum, [](const LossTerm &) { return true; });
  name("correct", /*hasSum=*/false, [](const LossTerm &loss) { return loss.hasClasses(); });
}

static ExportedFunction collectFunction(func::FuncOp function, StringRef name,
                                        const llvm::StringSet<> &inputs, ArrayRef<LossTerm> losses,
                                        std::optional<int64_t> stage = std::nullopt) {
  std::string symbol = function.getSymName().str();
  ExportedFunction exported{name.str(), symbol, symbol, {}};
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    exported.arguments.push_back(describeArgument(function.getArgAttrDict(i), inputs));
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
    exported.arguments.push_back(describeArgument(function.getResultAttrDict(i), inputs));
  nameLosses(exported.arguments, losses, stage);
  return exported;
}

static bool isForward(StringRef word) {
  return !word.starts_with("target") && !word.starts_with("grad:") &&
         !word.starts_with("input_grad:");
}
static bool isBackward(StringRef word) { return !word.starts_with("output:"); }

static void addParts(func::FuncOp pullback, StringRef variant, const llvm::StringSet<> &inputs,
                     ArrayRef<LossTerm> losses, SmallVectorImpl<ExportedFunction> &functions) {
  ExportedFunction whole = collectFunction(pullback, "", inputs, losses);
  auto add = [&](StringRef name, std::string symbol, bool (*isPart)(StringRef)) {
    ExportedFunction &part = functions.emplace_back(
        ExportedFunction{(name + variant).str(), std::move(symbol), whole.root, {}});
    llvm::copy_if(whole.arguments, std::back_inserter(part.arguments), isPart);
    part.arguments.push_back("residuals");
    return &part;
  };
  add("forward.", getForwardName(whole.symbol), isForward)->residualBytes =
      getResidualBytesName(whole.symbol);
  add("backward.", getBackwardName(whole.symbol), isBackward);
  add("backward_parameters.", getParameterBackwardName(whole.symbol),
      [](StringRef word) { return isBackward(word) && !word.starts_with("input_grad:"); });
}

std::vector<Variant> bppsa::getVariantsIn(ModuleOp module, const TrainingOptions &options) {
  std::vector<Variant> variants = options.getMappedVariants();
  llvm::erase_if(variants, [&](const Variant &variant) {
    return variant.forSmallBatches && !findFunction(module, EntryRole::Step, variant);
  });
  return variants;
}

func::FuncOp bppsa::findFunction(ModuleOp module, EntryRole role, const Variant &variant) {
  auto entry = EntryAttr::get(module.getContext(), role, variant.name);
  return findEntry(module, variant.forSmallBatches ? entry.withUnits() : entry);
}

static std::string getExportedName(EntryAttr entry, StringRef variant) {
  switch (entry.getRole()) {
  case EntryRole::Forward:
    return entry.getUnits() ? "infer.units" : "infer";
  case EntryRole::Loss:
    return "eval";
  case EntryRole::StepNaNs:
    return "nans.step";
  case EntryRole::GradNaNs:
    return "nans.grad";
  default:
    std::string name = (stringifyEntryRole(entry.getRole()) + "." + variant).str();
    return entry.getStage() ? name + ".stage" + std::to_string(*entry.getStage()) : name;
  }
}

SmallVector<int64_t> bppsa::getShardScans(ModuleOp module) {
  SmallVector<int64_t> sizes;
  // All functions with scans have the same scans.
  for (auto function : module.getOps<func::FuncOp>()) {
    for (auto scan : function.getOps<dist::ShardScanOp>())
      sizes.push_back(cast<ShapedType>(scan.getOwn().getType()).getDimSize(1));
    if (!sizes.empty())
      break;
  }
  return sizes;
}

SmallVector<ExportedFunction> bppsa::collectFunctions(ModuleOp module,
                                                      const TrainingOptions &options) {
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  llvm::StringSet<> inputs;
  for (unsigned i = 0, e = forward.getNumArguments(); i < e; ++i)
    if (StringAttr name = attrs::Input::in(forward.getArgAttrDict(i)))
      inputs.insert(name.getValue());

  SmallVector<ExportedFunction> functions;
  std::vector<LossTerm> losses = options.getLossTerms();
  auto add = [&](func::FuncOp function, StringRef variant = {}) {
    EntryAttr entry = attrs::Entry::of(function);
    functions.push_back(collectFunction(function, getExportedName(entry, variant), inputs, losses,
                                        entry.getStage()));
  };
  SmallVector<func::FuncOp> inferences = findEntries(module, EntryRole::Forward);
  add(inferences.front());
  llvm::for_each(findEntries(module, EntryRole::Loss), add);
  llvm::for_each(ArrayRef(inferences).drop_front(), add);
  for (const Variant &variant : getVariantsIn(module, options)) {
    auto isCalled = [&](EntryAttr entry) {
      return entry.isOf(variant.name) && entry.getUnits() == variant.forSmallBatches;
    };
    for (func::FuncOp function : findEntries(module, isCalled)) {
      if (attrs::Entry::of(function).getRole() == EntryRole::Pullback)
        addParts(function, variant.getExportedName(), inputs, losses, functions);
      else
        add(function, variant.getExportedName());
    }
  }
  llvm::for_each(findEntries(module, EntryRole::StepNaNs), add);
  llvm::for_each(findEntries(module, EntryRole::GradNaNs), add);
  auto addFlat = [&](StringRef name, SmallVector<std::string> arguments) {
    if (module.lookupSymbol<func::FuncOp>(name).getNumArguments() > arguments.size())
      arguments.push_back("live_blocks");
    functions.push_back({name.str(), name.str(), name.str(), std::move(arguments)});
  };
  addFlat("update", {"flat_params", "flat_grads", "flat_state0", "flat_state1", "hyper"});
  addFlat("sumsq", {"flat_grads", "sumsq"});
  return functions;
}

void bppsa::addFirstUses(ModuleOp kernels, MutableArrayRef<ExportedFunction> functions) {
  for (ExportedFunction &exported : functions) {
    auto function = kernels.lookupSymbol<func::FuncOp>(exported.symbol);
    if (!function)
      continue;
    for (auto await : function.getOps<dist::AwaitParameterOp>()) {
      unsigned argument = cast<BlockArgument>(await.getParameter()).getArgNumber();
      exported.firstUses.push_back(attrs::Parameter::ofArgument(function, argument).str());
    }
  }
}
