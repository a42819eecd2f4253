//===- StageStep.cpp - A microbatch in a stage of a pipeline --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Training/StageStep.h"
#include "../Distributed/Tags.h"
#include "bppsa/Runtime/Error.h"

#include <cstring>

using namespace bppsa::runtime;

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void StageMail::send(int stage, int64_t channel, const void *data, uint64_t bytes) {
  constexpr size_t alignment = 64;
  std::shared_ptr<void> copy(allocateBlock(alignment, bytes), freeBlock);
  memcpy(copy.get(), data, bytes);
  if (isOwn(stage)) {
    kept[channel].push_back(std::move(copy));
    return;
  }
  ranks.loop().post({model.stages[stage].rank, tags::stage(channel), copy.get(), bytes,
                     /*priority=*/0, text("channel ", channel), [copy] {}});
}

double StageMail::receive(int stage, int64_t channel, void *data, uint64_t bytes) {
  if (isOwn(stage)) {
    std::deque<std::shared_ptr<void>> &waiting = kept.at(channel);
    memcpy(data, waiting.front().get(), bytes);
    waiting.pop_front();
    return 0;
  }
  double begin = now();
  bool hasArrived = false;
  MessageLoop &loop = ranks.loop();
  loop.receive(model.stages[stage].rank, tags::stage(channel), data, bytes,
               [&] { loop.update([&] { hasArrived = true; }); });
  loop.wait("stage", [&] { return hasArrived; });
  return now() - begin;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

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
