//===- StageStep.cpp - A microbatch in a stage of a pipeline --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Updates/StageStep.h"
#include "bppsa/Runtime/Error.h"

#include <cstring>
#include <optional>

using namespace bppsa::runtime;

void StageStep::forward() {
  Call &call = calls.get();
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

void StageStep::drop() {
  if (!isPaused())
    return;
  isDropped = true;
  goOn(/*toEnd=*/true);
  isDropped = false;
}

void StageStep::beginPhase(int64_t phase) noexcept {
  if (phase > 0)
    step.pause();
}

void StageStep::send(int to, int64_t channel, const void *values, uint64_t bytes) noexcept {
  if (isDropped)
    return;
  orExit([&] {
    sent[to] += bytes;
    mail.send(to, channel, values, bytes);
  });
}

void StageStep::receive(int from, int64_t channel, void *values, uint64_t bytes) noexcept {
  if (isDropped) {
    memset(values, 0, bytes);
    return;
  }
  orExit([&] { secondsWaited += mail.receive(from, channel, values, bytes); });
}
