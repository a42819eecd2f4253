//===- InitializerRemarks.cpp - messages about initializers ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "InitializerRemarks.h"
#include "bppsa/Support/TextLists.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace bppsa;

static std::string quoteName(StringRef name) { return ("'" + name + "'").str(); }

static std::string quoteSome(ArrayRef<std::string> names) {
  return listSome(
      llvm::map_to_vector(names, [](const std::string &name) { return quoteName(name); }));
}

static std::string listMerged(ArrayRef<MergedInitializer> merged) {
  std::vector<std::string> texts;
  for (const MergedInitializer &initializer : merged)
    texts.push_back(quoteName(initializer.name) + " (also for " + listSome(initializer.others) +
                    ")");
  return listSome(texts);
}

std::string InitializerRemarks::getUntieHint(StringRef effect) const {
  if (!options.untie)
    return ("; --untie " + effect).str();
  return options.untie->empty() ? "" : "; they do not match --untie=" + quoteName(*options.untie);
}

std::string InitializerRemarks::offerTrain(StringRef effect) const {
  return options.train.empty() ? ("; --train=REGEX " + effect).str()
                               : "; they do not match --train=" + quoteName(options.train);
}

std::string InitializerRemarks::describeMerged(ArrayRef<MergedInitializer> merged) const {
  return "initializers that look merged by an exporter because their values are equal are trained "
         "as one: " +
         listMerged(merged) + getUntieHint("gives each its own");
}

std::string InitializerRemarks::describeUntrainedMerged(ArrayRef<MergedInitializer> merged) const {
  return "parameters are not trained because the exporter merged them with running statistics or "
         "constants of equal values: " +
         listMerged(merged) + getUntieHint("separates and trains them");
}

std::string InitializerRemarks::describeMergedStatistics(ArrayRef<MergedInitializer> merged) const {
  return "running statistics that look merged by an exporter because their values are equal are "
         "updated as one: " +
         listMerged(merged) + getUntieHint("gives each its own");
}

std::string InitializerRemarks::describeCalled(ArrayRef<std::string> names) const {
  std::string text =
      "trained as one parameter, because their node names belong to calls of one module: " +
      quoteSome(names);
  if (!options.untie)
    return text + "; --untie=REGEX gives each call its own";
  return text + (options.untie->empty() ? "; --untie without a REGEX does not separate calls"
                                        : getUntieHint(""));
}

std::string
InitializerRemarks::describeTransposed(ArrayRef<std::pair<std::string, std::string>> pairs) const {
  std::vector<std::string> texts;
  for (const auto &[name, other] : pairs)
    texts.push_back(quoteName(name) + " and " + quoteName(other));
  return "pairs of initializers that are a matrix and its transpose, which exporters create from "
         "one parameter, are trained separately: " +
         listSome(texts) +
         "; to train them as one, export without constant folding (do_constant_folding=False, or "
         "optimize=False with dynamo=True)";
}

std::string InitializerRemarks::describeDerived(ArrayRef<std::string> derived,
                                                Evidence evidence) const {
  return "the exporter has computed initializers from parameters, and these are trained in place "
         "of the parameters: " +
         listSome(derived) + "; to train the parameters, export with " +
         (evidence == Evidence::Record ? "optimize=False" : "do_constant_folding=False") +
         (options.training.freeze.empty() ? ". --freeze=REGEX keeps initializers as they are" : "");
}

std::string InitializerRemarks::describeDoubtful(ArrayRef<std::string> names) const {
  auto escape = [](StringRef name) { return llvm::Regex::escape(name); };
  std::string pattern = "'^(" + llvm::join(llvm::map_range(names, escape), "|") + ")$'";
  return "initializers that may be buffers or constants are trained, because the file does not "
         "record their roles: " +
         quoteSome(names) +
         (options.training.freeze.empty()
              ? "; --freeze=" + pattern + " keeps them as they are"
              : "; they do not match --freeze=" + quoteName(options.training.freeze)) +
         (options.train.empty() ? "; --train=" + pattern + " confirms that they are parameters"
                                : "; they do not match --train=" + quoteName(options.train));
}

std::string InitializerRemarks::describeNamed(ArrayRef<std::string> names) const {
  return "trained as parameters because of their names only, since the file does not record their "
         "roles: " +
         quoteSome(names) + "; `info` lists all initializers with the reasons";
}

std::string InitializerRemarks::describeRemoved(ArrayRef<std::string> nodes) const {
  return "the exporter removed zero biases that PyTorch trains and this program does not, at the "
         "nodes " +
         listSome(nodes) + "; export with optimize=False to keep them";
}

std::string InitializerRemarks::describeLost(ArrayRef<std::string> names) const {
  return "the file lacks parameters of the module, which are not trained: " + quoteSome(names) +
         "; if the exporter has left them out because they change nothing yet, export with "
         "optimize=False";
}

std::string InitializerRemarks::describeConstants(ArrayRef<std::string> constants) const {
  return "not trained, as buffers or constants: " + listSome(constants) + offerTrain("trains them");
}

std::string InitializerRemarks::describePathless(ArrayRef<std::string> names,
                                                 ArrayRef<std::string> endNodes) const {
  std::string text = "not trained, because no differentiable path leads from them to the loss: " +
                     quoteSome(names);
  if (endNodes.empty())
    return text + "; they lead only to outputs without a loss";
  return text + "; the paths end at " + listSome(endNodes, /*maxShown=*/3);
}

std::string InitializerRemarks::describeConstantWeights(ArrayRef<std::string> names) const {
  return "weights in Constant nodes are not trained: " + quoteSome(names) +
         offerTrain("trains those whose names match, as initializers");
}

std::string InitializerRemarks::describeNothingTrained(ArrayRef<std::string> initializers,
                                                       ArrayRef<std::string> constantWeights,
                                                       bool hasConstants, bool isMerged) const {
  std::string text = "the model has nothing to train: ";
  if (!initializers.empty())
    text += listSome(initializers, /*maxShown=*/4);
  if (!constantWeights.empty())
    text += (initializers.empty() ? "" : "; ") + std::string("weights in Constant nodes: ") +
            quoteSome(constantWeights);
  if (hasConstants || !constantWeights.empty())
    text += offerTrain("trains those whose names match");
  if (isMerged && !options.untie)
    text += getUntieHint("separates those that are merged");
  return text +
         (options.training.freeze.empty() ? "; --freeze=. compiles it without training" : "");
}
