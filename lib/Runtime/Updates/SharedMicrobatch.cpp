//===- SharedMicrobatch.cpp - A microbatch on a share of the steps --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Updates/SharedMicrobatch.h"

using namespace bppsa::runtime;

SharedMicrobatch::SharedMicrobatch(Session &session, ShardPort &states, std::string function,
                                   Batch batch)
    : data{std::move(batch), 0, 0, Buffer(session.parameters.gradientCount() * sizeof(float))},
      states(states), calls(session, std::move(function), data) {
  if (size_t count = session.program.model.losses.size(); count > 1)
    data.losses.resize(count);
}

SharedMicrobatch::~SharedMicrobatch() {
  isDropped = true;
  if (step.isPaused())
    step.resume();
}

void SharedMicrobatch::forward() {
  Call &call = calls.get();
  step.start([this, &call] {
    StagePortUse pauses(*this);
    StepListening listening(*this);
    exchanges.emplace(states);
    call();
    exchanges.reset();
  });
}

void SharedMicrobatch::beginPhase(int64_t phase) noexcept {
  if (phase > 0)
    step.pause();
  if (isDropped)
    exchanges.reset();
}
