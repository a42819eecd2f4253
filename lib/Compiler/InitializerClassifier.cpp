//===- InitializerClassifier.cpp - classify initializers ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "InitializerClassifier.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Differentiation/DifferentiablePaths.h"
#include "bppsa/Program/Keys.h"

using namespace mlir;
using namespace bppsa;
using Role = InitializerKind::Role;

static SmallVector<Value> findLossValues(func::FuncOp forward, const TrainingOptions &training) {
  SmallVector<Value> values;
  auto results = cast<func::ReturnOp>(forward.front().getTerminator()).getOperands();
  for (const LossTerm &term : training.getLossTerms())
    for (unsigned i = 0, e = results.size(); i < e; ++i)
      if (term.output.empty() ? i == 0 : attrs::Output::ofResult(forward, i) == term.output)
        values.push_back(results[i]);
  return values;
}

InitializerClassifier::InitializerClassifier(func::FuncOp forward,
                                             const InitializerFindings &findings,
                                             const CompileOptions &options,
                                             ArrayRef<std::string> lifted)
    : forward(forward), findings(findings), options(options), words(options), train(options.train),
      freeze(options.training.freeze),
      differentiable(findDifferentiablePaths(findLossValues(forward, options.training))),
      isTrainMatched(options.train.empty() || !lifted.empty()) {
  for (const ClassifiedInitializer &found : findings.constants)
    constants[found.name] = found.kind.reason;
  for (const ClassifiedInitializer &found : findings.parameters)
    parameters[found.name] = found.kind;
  trainedConstants.insert(lifted.begin(), lifted.end());
  for (const std::string &name : findings.constantWeights)
    if (isFrozenByUser(name))
      isFreezeMatched = true;
    else
      constantWeights.push_back(name);
}

InitializerClassifier::Decision InitializerClassifier::decideFrozen(unsigned argument,
                                                                    StringRef name) {
  if (forward.getArgument(argument).use_empty())
    return {"frozen", "not read by the graph"};
  bool isMerged = llvm::any_of(findings.merged, [&](const MergedInitializer &merged) {
    return merged.name == name && !merged.areStatistics;
  });
  if (llvm::is_contained(findings.statistics, name))
    return {"statistic", isMerged ? "merged with running statistics of BatchNormalization"
                                  : "running statistics of BatchNormalization"};
  return {"frozen", "a setting of a node"};
}

InitializerClassifier::Decision InitializerClassifier::decide(unsigned argument, StringRef name) {
  bool isChosen = !options.train.empty() && train.match(name);
  auto constant = constants.find(name);
  auto parameter = parameters.find(name);
  bool isDoubtful = parameter != parameters.end() && parameter->second.role == Role::Doubtful;
  isTrainMatched |= isChosen && (constant != constants.end() || isDoubtful);
  isFreezeMatched |= isFrozenByUser(name);
  if (attrs::Statistic::ofArgument(forward, argument))
    return isFrozenByUser(name) ? Decision{"frozen", "--freeze"}
                                : Decision{"statistic", "updated by training steps"};
  if (attrs::Frozen::ofArgument(forward, argument))
    return decideFrozen(argument, name);
  isChosen |= trainedConstants.contains(name);
  if (constant != constants.end() && !isChosen)
    return {"constant", constant->second};
  if (isFrozenByUser(name))
    return {"frozen", "--freeze"};
  if (!differentiable.contains(forward.getArgument(argument)))
    return {"frozen", "no differentiable path to the loss"};
  if (isChosen && (constant != constants.end() || trainedConstants.contains(name)))
    return {"trained", "--train"};
  return {"trained", parameter == parameters.end() ? "the file does not record its role"
                                                   : parameter->second.reason};
}

void InitializerClassifier::run() {
  SmallVector<DictionaryAttr> arguments;
  for (unsigned i = 0, e = forward.getNumArguments(); i < e; ++i) {
    NamedAttrList attributes(forward.getArgAttrDict(i));
    if (auto parameter = attrs::Parameter::ofArgument(forward, i)) {
      StringRef name = parameter.getValue();
      Decision decision = decide(i, name);
      classification[name.str()] = llvm::json::Object{{program::keys::kKind, decision.kind.str()},
                                                      {program::keys::kReason, decision.reason}};
      std::string text = "'" + name.str() + "' (" + decision.reason + ")";
      if (decision.kind == "trained")
        trained.insert(name);
      else
        untrainedReasons.push_back(text);
      // Sizes of a Resize and leftovers of constant folding are not intended for training.
      isTrainingMeant |= decision.kind != "frozen" || !attrs::Frozen::in(attributes);
      if (decision.kind == "constant")
        constantReasons.push_back(text);
      bool isPathless = decision.kind == "frozen" && !attrs::Frozen::in(attributes) &&
                        decision.reason != "--freeze";
      if (isPathless)
        pathless.push_back(name.str());
      if (decision.kind == "constant" || isPathless)
        attrs::Frozen::set(attributes, UnitAttr::get(forward.getContext()));
      if (attrs::Statistic::in(attributes))
        updatedStatistics.insert(name);
    }
    arguments.push_back(attributes.getDictionary(forward.getContext()));
  }
  forward.setAllArgAttrs(arguments);
}

bool InitializerClassifier::hasNothingToTrain() const {
  return trained.empty() && (isTrainingMeant || !constantWeights.empty()) && !isFreezeMatched &&
         !options.training.hasPullbacks();
}

std::string InitializerClassifier::describeNothingTrained() const {
  auto holdsConstant = [](const MergedInitializer &merged) { return merged.holdsConstant; };
  return words.describeNothingTrained(untrainedReasons, constantWeights,
                                      /*hasConstants=*/!constantReasons.empty(),
                                      llvm::any_of(findings.merged, holdsConstant));
}

/// Returns the node of `op`, as in "'greater' (Greater)", or an empty string if unknown.
static std::string describeNode(Operation *op) {
  auto node = op->getLoc()->findInstanceOf<NameLoc>();
  if (!node)
    return "";
  auto type = dyn_cast<NameLoc>(node.getChildLoc());
  return "'" + node.getName().str() + "'" + (type ? " (" + type.getName().str() + ")" : "");
}

std::vector<std::string> InitializerClassifier::findEndNodes() {
  SmallVector<Value> values;
  for (unsigned i = 0, e = forward.getNumArguments(); i < e; ++i)
    if (auto name = attrs::Parameter::ofArgument(forward, i);
        name && llvm::is_contained(pathless, name.getValue()))
      values.push_back(forward.getArgument(i));
  std::vector<std::string> nodes;
  for (Operation *op : findPathEnds(values, differentiable))
    if (std::string node = describeNode(op); !node.empty() && !llvm::is_contained(nodes, node))
      nodes.push_back(std::move(node));
  return nodes;
}

void InitializerClassifier::warnOfUntrained() {
  if (!constantReasons.empty())
    note(words.describeConstants(constantReasons));
  if (!pathless.empty())
    warn(words.describePathless(pathless, findEndNodes()));
  if (!constantWeights.empty())
    warn(words.describeConstantWeights(constantWeights));
  if (!findings.removedBiases.empty())
    warn(words.describeRemoved(findings.removedBiases));
  if (!findings.lost.empty() && !options.untie)
    warn(words.describeLost(findings.lost));
}

void InitializerClassifier::warnOfMerged() {
  std::vector<MergedInitializer> trainedAsOne, untrained, statistics;
  for (const MergedInitializer &merged : findings.merged)
    if (merged.areStatistics) {
      if (updatedStatistics.contains(merged.name))
        statistics.push_back(merged);
    } else if (merged.holdsConstant && !isFrozenByUser(merged.name) && !isTrained(merged.name)) {
      untrained.push_back(merged);
    } else if (isTrained(merged.name)) {
      trainedAsOne.push_back(merged);
    }
  if (!trainedAsOne.empty())
    warn(words.describeMerged(trainedAsOne));
  if (!untrained.empty())
    warn(words.describeUntrainedMerged(untrained));
  if (!statistics.empty())
    warn(words.describeMergedStatistics(statistics));
}

void InitializerClassifier::warnOfDerived() {
  std::vector<std::string> derived;
  std::optional<Evidence> evidence;
  for (const auto &[name, kind] : findings.parameters) {
    if (kind.role != Role::Derived)
      continue;
    if (!evidence)
      evidence = kind.evidence;
    if (isTrained(name))
      derived.push_back("'" + name + "' (" + kind.reason + ")");
  }
  if (!derived.empty())
    warn(words.describeDerived(derived, *evidence));
}

void InitializerClassifier::warnOfGuessed() {
  auto isConfirmed = [&](StringRef name) { return !options.train.empty() && train.match(name); };
  std::vector<std::string> doubtful, named;
  for (const auto &[name, kind] : findings.parameters) {
    if (!isTrained(name) || isConfirmed(name))
      continue;
    if (kind.role == Role::Doubtful)
      doubtful.push_back(name);
    else if (kind.role == Role::Parameter && kind.evidence == Evidence::Name)
      named.push_back(name);
  }
  if (!doubtful.empty())
    warn(words.describeDoubtful(doubtful));
  if (!named.empty())
    note(words.describeNamed(named));
}

void InitializerClassifier::addRemarks() {
  warnOfUntrained();
  warnOfDerived();
  warnOfGuessed();
  std::vector<std::pair<std::string, std::string>> transposed;
  llvm::copy_if(findings.transposed, std::back_inserter(transposed),
                [&](const auto &pair) { return isTrained(pair.first) && isTrained(pair.second); });
  if (!transposed.empty())
    warn(words.describeTransposed(transposed));
  if (!findings.called.empty())
    note(words.describeCalled(findings.called));
  warnOfMerged();
}
