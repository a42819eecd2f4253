//===- MicrobatchCalls.cpp - Steps with results of their own --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Updates/MicrobatchCalls.h"

using namespace bppsa::runtime;

Call &MicrobatchCalls::get() {
  auto found = calls.find(data.batch.samples);
  if (found != calls.end())
    return found->second;
  Call &call = calls[data.batch.samples] = session.prepare(function, &data.batch);
  const Model &model = session.program.model;
  const std::vector<std::string> &arguments = model.functions.at(function);
  const float *shared = session.parameters.changeGradients();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "loss")
      call.bind(i, &data.loss);
    else if (arguments[i] == "seed")
      call.bind(i, &data.seed);
    else if (arguments[i].rfind("grad:", 0) == 0)
      call.bind(i, data.gradients.floats() + (static_cast<float *>(call.data(i)) - shared));
    for (size_t k = 0; k < data.losses.size(); ++k)
      if (arguments[i] == "loss" + model.suffixOf(model.losses[k]))
        call.bind(i, &data.losses[k]);
  }
  return call;
}
