//===- RecurrentActivations.cpp - activations of recurrent layers ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Model/Importer.h"
#include "RecurrentCells.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// The number of parameters of an activation and their defaults; without defaults, the node must
/// provide them.
struct ActivationParameters {
  unsigned count = 0;
  std::optional<Activation> defaults;
};
} // namespace

static ActivationParameters getParameters(StringRef name) {
  auto make = [&](unsigned count, double alpha, double beta = 0) {
    return ActivationParameters{count, Activation{name, alpha, beta}};
  };
  if (name == "Elu" || name == "ThresholdedRelu")
    return make(1, 1);
  if (name == "LeakyRelu")
    return make(1, 0.01f);
  if (name == "HardSigmoid")
    return make(2, 0.2f, 0.5f);
  if (name == "Affine" || name == "ScaledTanh")
    return {2, std::nullopt};
  return make(0, 0);
}

FailureOr<SmallVector<Activation>>
bppsa::readActivations(const Node &node, ArrayRef<StringRef> usual, int64_t directions) {
  // A single list covers all directions: f, g, h of each.
  SmallVector<StringRef> names = node.getStrings("activations");
  size_t expected = usual.size() * directions;
  if (!names.empty() && names.size() != expected)
    return node.emitError() << "attribute 'activations' has " << names.size()
                            << " elements, accepted: " << expected << " for direction '"
                            << node.getString("direction", "forward") << "'";
  for (size_t i = 0; names.size() < expected; ++i)
    names.push_back(usual[i % usual.size()]);
  ArrayRef<float> alphas = node.getFloats("activation_alpha"),
                  betas = node.getFloats("activation_beta");
  SmallVector<Activation> activations;
  for (StringRef name : names) {
    auto [count, defaults] = getParameters(name);
    if (!defaults && (alphas.empty() || betas.empty()))
      return node.emitError() << "activation " << quoted(name)
                              << " has no default parameters, accepted: an element of "
                                 "'activation_alpha' and one of 'activation_beta' for it";
    Activation activation = defaults.value_or(Activation{name});
    if (count >= 1 && !alphas.empty()) {
      activation.alpha = alphas.front();
      alphas = alphas.drop_front();
    }
    if (count >= 2 && !betas.empty()) {
      activation.beta = betas.front();
      betas = betas.drop_front();
    }
    activations.push_back(activation);
  }
  for (auto [attribute, rest] :
       {std::pair("activation_alpha", alphas), std::pair("activation_beta", betas)})
    if (!rest.empty())
      return node.emitError() << "attribute '" << attribute << "' has " << rest.size()
                              << " more elements than the activations take, accepted: one for each "
                                 "activation that has the parameter";
  return activations;
}
