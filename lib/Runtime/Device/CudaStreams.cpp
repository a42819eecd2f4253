//===- CudaStreams.cpp - CUDA streams of kernels --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CudaStreams.h"

#include <algorithm>

using namespace bppsa::runtime;
using namespace bppsa::runtime::cuda;

static constexpr int64_t kMainStream = 0, kSubStream = 1;

Streams::Streams(const Driver &driver) : driver(driver) {
  driver.check(driver.ctxGetStreamPriorityRange(&least, &greatest),
               "asking for the priorities of streams");
  streams[kMainStream] = createStream(greatest);
}

Stream Streams::createStream(int priority) const {
  Stream stream = nullptr;
  driver.check(driver.streamCreateWithPriority(&stream, kNonBlockingStream, priority),
               "creating a stream");
  return stream;
}

void Streams::select(int64_t stream) {
  if (stream == kSubStream && !streams[kSubStream]) {
    streams[kSubStream] = createStream(least);
    driver.check(driver.eventCreate(&fence, kEventWithoutTime), "creating an event");
  }
  current = stream;
}

void Streams::add(KernelLaunch launch) {
  size_t number = launches.size();
  launch.isOnSubStream = current == kSubStream;
  std::swap(launch.before, waits[current]);
  if (last[current])
    launch.before.push_back(*last[current]);
  // Dependences are part of a graph's key.
  std::sort(launch.before.begin(), launch.before.end());
  launch.before.erase(std::unique(launch.before.begin(), launch.before.end()), launch.before.end());
  launches.push_back(std::move(launch));
  last[current] = number;
  items.push_back({Item::Kind::Launch, current, number});
  given += current == kSubStream;
}

void Streams::record(int64_t event) {
  Recorded &recorded = events[event];
  recorded.given = current == kSubStream ? given : 0;
  recorded.last = last[current];
  items.push_back({Item::Kind::Record, current, 0, event});
}

void Streams::wait(int64_t event) {
  auto found = events.find(event);
  if (found == events.end())
    fail("a function waits for event ", event,
         ", which it has not recorded; compile the model again");
  if (current == kMainStream)
    joinedLaunches = std::max(joinedLaunches, found->second.given);
  if (found->second.last)
    waits[current].push_back(*found->second.last);
  items.push_back({Item::Kind::Wait, current, 0, event});
}

void Streams::forgetCollected() {
  for (auto &entry : events)
    entry.second.last.reset();
  for (int64_t stream : {kMainStream, kSubStream}) {
    last[stream].reset();
    waits[stream].clear();
  }
}

Event &Streams::eventOf(int64_t number) {
  Event &event = events[number].event;
  if (!event)
    driver.check(driver.eventCreate(&event, kEventWithoutTime), "creating an event");
  return event;
}

void Streams::makeWait(Stream waiting, Stream other) {
  driver.check(driver.eventRecord(fence, other), "recording an event");
  driver.check(driver.streamWaitEvent(waiting, fence, 0), "waiting for an event");
}

/// Graphs run entirely on the main stream.
Stream Streams::ready(int64_t stream) {
  if (stream == kSubStream) {
    if (mustSubWait)
      makeWait(streams[kSubStream], streams[kMainStream]);
    mustSubWait = false;
    subRuns = true;
  }
  return streams[stream];
}

Stream Streams::selected() {
  given += current == kSubStream;
  return ready(current);
}

void Streams::startItem(const Item &item, std::vector<KernelLaunch> &sequence,
                        const std::function<void(KernelLaunch &, Stream)> &start) {
  switch (item.kind) {
  case Item::Kind::Launch:
    return start(sequence[item.launch], ready(item.stream));
  case Item::Kind::Record:
    return driver.check(driver.eventRecord(eventOf(item.event), streams[item.stream]),
                        "recording an event");
  case Item::Kind::Wait:
    return driver.check(driver.streamWaitEvent(streams[item.stream], eventOf(item.event), 0),
                        "waiting for an event");
  }
}

void Streams::flush(Graphs &graphs, const std::function<void(KernelLaunch &, Stream)> &start,
                    const std::function<void(const KernelLaunch &)> &note) {
  std::vector<Item> order;
  std::vector<KernelLaunch> sequence;
  order.swap(items);
  sequence.swap(launches);
  forgetCollected();
  if (graphs.prepare(sequence)) {
    if (subRuns)
      makeWait(streams[kMainStream], streams[kSubStream]);
    subRuns = false;
    mustSubWait = streams[kSubStream] != nullptr;
    if (graphs.launch()) {
      for (const KernelLaunch &launch : sequence)
        note(launch);
      return;
    }
  }
  for (const Item &item : order) {
    startItem(item, sequence, start);
    if (item.kind == Item::Kind::Launch)
      note(sequence[item.launch]);
  }
}
