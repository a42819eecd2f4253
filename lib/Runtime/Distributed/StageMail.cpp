//===- StageMail.cpp - Messages between pipeline stages -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Distributed/StageMail.h"
#include "Tags.h"
#include "bppsa/Runtime/Call.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Memory.h"

#include <algorithm>
#include <cstring>

using namespace bppsa::runtime;

/// Uses the caching allocator, because such blocks are soon needed again.
static std::shared_ptr<void> makeBlock(uint64_t bytes) {
  constexpr size_t alignment = 64;
  return {allocateBlock(alignment, bytes), freeBlock};
}

void StageMail::send(int stage, int64_t channel, const void *data, uint64_t bytes) {
  if (trial)
    trial->sent.push_back({current, stage, channel, bytes});
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
  current = std::get<0>(part);
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

/// `arrived` is called by MessageLoop::update().
void StageMail::start(const Receipt &receipt, void *data, std::function<void()> arrived) {
  MessageLoop &loop = ranks.loop();
  loop.receive(model.stages[receipt.stage].rank, tags::stage(receipt.channel), data, receipt.bytes,
               [&loop, arrived = std::move(arrived)] { loop.update(arrived); });
}

double StageMail::receive(int stage, int64_t channel, void *data, uint64_t bytes) {
  if (trial)
    ++trial->received[channel];
  if (isOwn(stage)) {
    std::deque<std::shared_ptr<void>> &waiting = kept.at(channel);
    memcpy(data, waiting.front().get(), bytes);
    waiting.pop_front();
    return 0;
  }
  if (learned)
    learned->push_back({stage, channel, bytes});
  double begin = now();
  auto missing = [&] {
    return text("channel ", channel, " of stage ", stage, " (rank ", model.stages[stage].rank, ")");
  };
  std::deque<std::shared_ptr<Arrival>> &arrivals = expected[channel];
  if (arrivals.empty()) {
    bool hasArrived = false;
    start({stage, channel, bytes}, data, [&hasArrived] { hasArrived = true; });
    ranks.loop().wait("stage", [&] { return hasArrived; }, missing);
    return now() - begin;
  }
  std::shared_ptr<Arrival> arrival = std::move(arrivals.front());
  arrivals.pop_front();
  ranks.loop().wait("stage", [&] { return arrival->isThere; }, missing);
  double waited = now() - begin;
  memcpy(data, arrival->data.get(), bytes);
  return waited;
}

void StageMail::endTrial(bool isKept) {
  Trial ended = std::move(*trial);
  trial.reset();
  if (isKept)
    return;
  learned = nullptr;
  std::string own(reinterpret_cast<const char *>(ended.sent.data()),
                  ended.sent.size() * sizeof(Sent));
  for (const std::string &bytes : ranks.gather(own, "trial")) {
    std::vector<Sent> sent(bytes.size() / sizeof(Sent));
    std::copy_n(bytes.data(), bytes.size(), reinterpret_cast<char *>(sent.data()));
    for (const Sent &message : sent)
      if (isOwn(message.to) && --ended.received[message.channel] < 0)
        receive(message.from, message.channel, makeBlock(message.bytes).get(), message.bytes);
  }
}
