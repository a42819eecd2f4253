//===- UntrainedValues.cpp - warn about untrained initializers ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Initializers/InspectInitializers.h"
#include "ModelImporter.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Support/TextLists.h"

using namespace mlir;
using namespace bppsa;

static std::string listNames(ArrayRef<std::string> names) {
  auto quote = [](const std::string &name) { return quoted(name); };
  return listSome(llvm::map_to_vector(names, quote));
}

void ModelImporter::warnOfUntrained() {
  std::vector<std::string> unread;
  for (auto [argument, attributes] :
       llvm::zip_equal(function.getArguments(), graph.argumentAttributes)) {
    auto name = attrs::Parameter::in(attributes);
    if (!name || !argument.use_empty())
      continue;
    attrs::Frozen::set(attributes, builder.getUnitAttr());
    // Exporters leave behind constants that they have folded.
    if (!isGeneratedName(name.getValue()))
      unread.push_back(name.str());
  }
  if (!unread.empty())
    emitWarning(file.location) << "the graph does not read the initializers " << listNames(unread)
                               << "; they are not trained";
  if (!nodes.innerConstants.empty())
    emitWarning(file.location)
        << "the float initializers " << listNames(nodes.innerConstants)
        << " of graphs inside of nodes are constants, as functions and other "
           "values have their names; rename them, or move them to the "
           "main graph, to train them";
  if (!nodes.batchStatistics.empty())
    emitWarning(file.location) << "the BatchNormalization nodes "
                               << listNames(nodes.batchStatistics)
                               << " have training_mode 1 and running statistics that are not "
                                  "initializers: `eval`, `infer` "
                                  "and the saved model use the statistics of each batch; turn "
                                  "input_mean and input_var into initializers";
}

/// Checks that running statistics, which training updates, are neither trained nor used as another
/// statistic.
LogicalResult ModelImporter::checkStatistics() {
  for (auto [argument, attributes] :
       llvm::zip_equal(function.getArguments(), graph.argumentAttributes)) {
    if (!attrs::Statistic::in(attributes))
      continue;
    auto isRunning = [](OpOperand &use) {
      auto op = dyn_cast<RunningStatisticOp>(use.getOwner());
      return op && use.get() == op.getRunning();
    };
    if (!llvm::all_of(argument.getUses(), isRunning))
      return error() << "initializer " << quoted(attrs::Parameter::in(attributes).getValue())
                     << " holds running statistics of a BatchNormalization with training_mode 1 "
                        "and is used otherwise too"
                     << graph.getUntieHint();
  }
  return success();
}
