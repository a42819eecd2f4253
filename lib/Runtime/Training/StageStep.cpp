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

/// Memory that is soon needed again.
static std::shared_ptr<void> makeBlock(uint64_t bytes) {
  constexpr size_t alignment = 64;
  return {allocateBlock(alignment, bytes), freeBlock};
}

void StageMail::send(int stage, int64_t channel, const void *data, uint64_t bytes) {
  std::shared_ptr<void> copy = makeBlock(bytes);
  memcpy(copy.get(), data, bytes);
  if (isOwn(stage)) {
    kept[channel].push_back(std::move(copy));
    return;
  }
  ranks.loop().post({model.stages[stage].rank, tags::stage(channel), copy.get(), bytes,
                     /*priority=*/0, text("channel ", channel), [copy] {}});
}

void StageMail::begin(Part part) {
  auto [found, isNew] = receipts.try_emplace(part);
  learned = isNew ? &found->second : nullptr;
}

bool StageMail::expect(Part part) {
  auto found = receipts.find(part);
  if (found == receipts.end())
    return false;
  for (const Receipt &receipt : found->second) {
    auto arrival = std::make_shared<Arrival>();
    arrival->data = makeBlock(receipt.bytes);
    expected[receipt.channel].push_back(arrival);
    start(receipt, arrival->data.get(), [arrival] { arrival->isThere = true; });
  }
  return true;
}

/// Begins to receive; calls `arrived` where waiting threads look.
void StageMail::start(const Receipt &receipt, void *data, std::function<void()> arrived) {
  MessageLoop &loop = ranks.loop();
  loop.receive(model.stages[receipt.stage].rank, tags::stage(receipt.channel), data, receipt.bytes,
               [&loop, arrived = std::move(arrived)] { loop.update(arrived); });
}

double StageMail::receive(int stage, int64_t channel, void *data, uint64_t bytes) {
  if (isOwn(stage)) {
    std::deque<std::shared_ptr<void>> &waiting = kept.at(channel);
    memcpy(data, waiting.front().get(), bytes);
    waiting.pop_front();
    return 0;
  }
  if (learned)
    learned->push_back({stage, channel, bytes});
  double begin = now(), waited = 0;
  std::deque<std::shared_ptr<Arrival>> &arrivals = expected[channel];
  if (arrivals.empty()) {
    bool hasArrived = false;
    start({stage, channel, bytes}, data, [&hasArrived] { hasArrived = true; });
    ranks.loop().wait("stage", [&] { return hasArrived; });
    return now() - begin;
  }
  std::shared_ptr<Arrival> arrival = std::move(arrivals.front());
  arrivals.pop_front();
  ranks.loop().wait("stage", [&] { return arrival->isThere; });
  waited = now() - begin;
  memcpy(data, arrival->data.get(), bytes);
  return waited;
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
