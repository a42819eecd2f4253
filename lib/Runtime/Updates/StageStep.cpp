//===- StageStep.cpp - A microbatch in a stage of a pipeline --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Updates/StageStep.h"
#include "bppsa/Runtime/Error.h"

#include <optional>

using namespace bppsa::runtime;

/// The call for the size of the batch, with results of its own.
Call &StageStep::prepare() {
  auto found = calls.find(data.batch.samples);
  if (found != calls.end())
    return found->second;
  Call &call = calls[data.batch.samples] = session.prepare(function, &data.batch);
  const std::vector<std::string> &arguments = session.program.model.functions.at(function);
  const float *shared = session.parameters.changeGradients();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "loss")
      call.bind(i, &data.loss);
    else if (arguments[i] == "seed")
      call.bind(i, &data.seed);
    else if (arguments[i].rfind("grad:", 0) == 0)
      call.bind(i, data.gradients.floats() + (static_cast<float *>(call.data(i)) - shared));
  }
  return call;
}

void StageStep::forward() {
  Call &call = prepare();
  sent.clear();
  step.start([this, &call] {
    StagePortUse use(*this);
    std::optional<StepListening> listening;
    if (listener)
      listening.emplace(*listener);
    call();
  });
}

void StageStep::goOn(bool toEnd) {
  do
    step.resume();
  while (toEnd && step.isPaused());
}

void StageStep::beginPhase(int64_t phase) noexcept {
  if (phase > 0)
    step.pause();
}

void StageStep::send(int to, int64_t channel, const void *values, uint64_t bytes) noexcept {
  orExit([&] {
    sent[to] += bytes;
    mail.send(to, channel, values, bytes);
  });
}

void StageStep::receive(int from, int64_t channel, void *values, uint64_t bytes) noexcept {
  orExit([&] { secondsWaited += mail.receive(from, channel, values, bytes); });
}
