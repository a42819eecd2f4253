//===- SharedMicrobatch.cpp - A microbatch on a share of the steps --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Updates/SharedMicrobatch.h"

using namespace bppsa::runtime;

SharedMicrobatch::SharedMicrobatch(Session &session, ShardPort &states, std::string function,
                                   Batch batch)
    : batch(std::move(batch)), session(session), states(states), function(std::move(function)),
      own(session.parameters.gradientCount() * sizeof(float)),
      losses(session.program.model.losses.size()) {}

/// The call for the size of the batch, with results of its own.
Call &SharedMicrobatch::prepare() {
  auto found = calls.find(batch.samples);
  if (found != calls.end())
    return found->second;
  Call &call = calls[batch.samples] = session.prepare(function, &batch);
  const Model &model = session.program.model;
  const std::vector<std::string> &arguments = model.functions.at(function);
  const float *shared = session.parameters.changeGradients();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "loss")
      call.bind(i, losses.size() > 1 ? &loss : losses.data());
    else if (arguments[i] == "seed")
      call.bind(i, &seed);
    else if (arguments[i].rfind("grad:", 0) == 0)
      call.bind(i, own.floats() + (static_cast<float *>(call.data(i)) - shared));
    for (size_t k = 0; k < losses.size() && losses.size() > 1; ++k)
      if (arguments[i] == "loss" + model.suffixOf(model.losses[k]))
        call.bind(i, &losses[k]);
  }
  return call;
}

void SharedMicrobatch::forward(int64_t nextSeed) {
  seed = nextSeed;
  Call &call = prepare();
  step.start([this, &call] {
    StagePortUse pauses(*this);
    StepListening listening(*this);
    ShardPortUse exchanges(states);
    call();
  });
}

void SharedMicrobatch::beginPhase(int64_t phase) noexcept {
  if (phase > 0)
    step.pause();
}
