//===- BatchLoader.cpp - Prefetching batch loader -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Files/BatchLoader.h"
#include "Chaos.h"
#include "bppsa/Runtime/Threads/Threads.h"

#include <algorithm>
#include <system_error>

using namespace bppsa::runtime;

/// Prefetch enough to wake the thread rarely, but little enough for the cache.
static constexpr int64_t kBytesAhead = 4 << 20, kMaxAhead = 64;

static int64_t bytesOf(const Batch &batch) {
  int64_t bytes = 0;
  for (const Batch::Loss &loss : batch.losses)
    bytes += loss.target.data.size() + loss.weight.data.size();
  for (const Array &input : batch.inputs)
    bytes += static_cast<int64_t>(input.data.size());
  return bytes;
}

BatchLoader::BatchLoader(const Dataset &data, const std::vector<int64_t> &order, int64_t first,
                         int64_t largest, std::function<int64_t(int64_t)> sizeAt)
    : data(data), order(order), at(first), sizeAt(std::move(sizeAt)), begin(first) {
  if (!data.isInMemory() && threads() > 1)
    startThread(largest);
}

BatchLoader::~BatchLoader() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  wasTaken.notify_one();
  thread.join();
}

void BatchLoader::startThread(int64_t largest) {
  slots.push_back(data.newBatch(largest));
  int64_t bytes = std::max<int64_t>(bytesOf(slots.front()), 1);
  for (int64_t i = 1; i < std::min(kBytesAhead / bytes, kMaxAhead); ++i)
    slots.push_back(data.newBatch(largest));
  try {
    thread = std::thread([this] { work(); });
  } catch (const std::system_error &) {
    // The system grants no more threads.
    slots.clear();
  }
}

bool BatchLoader::waitForSlot() {
  std::unique_lock lock(mutex);
  wasTaken.wait(lock,
                [&] { return stopping || filled - taken < static_cast<int64_t>(slots.size()); });
  return !stopping;
}

/// Reads the next shuffle group block by block while the current group is used.
void BatchLoader::readAhead(int64_t position) {
  ShuffleBlocks blocks = data.shuffleBlocks();
  int64_t due = (position - begin) / blocks.samples + blocks.together + 1;
  for (int64_t end = std::min<int64_t>(due, ahead.size()); blocksRead < end; ++blocksRead)
    data.readAhead(ahead[blocksRead]);
}

void BatchLoader::fillSlots() {
  ahead = data.samplesToReadAhead(order, begin);
  for (int64_t size; (size = sizeAt(at)) > 0; at += size) {
    if (!waitForSlot())
      return;
    readAhead(at);
    data.gather(order.data() + at, size, slots[filled % slots.size()]);
    {
      std::lock_guard lock(mutex);
      ++filled;
    }
    wasFilled.notify_one();
    injectChaos();
  }
}

void BatchLoader::work() {
  std::exception_ptr failure;
  try {
    fillSlots();
  } catch (...) {
    failure = std::current_exception();
  }
  {
    std::lock_guard lock(mutex);
    error = failure;
    hasEnded = true;
  }
  wasFilled.notify_one();
}

bool BatchLoader::waitForBatch() {
  std::unique_lock lock(mutex);
  wasFilled.wait(lock, [&] { return filled > taken || hasEnded; });
  return filled > taken;
}

void BatchLoader::next(Batch &batch) {
  if (!thread.joinable() || !waitForBatch()) {
    if (error)
      std::rethrow_exception(error);
    int64_t size = sizeAt(at);
    data.gather(order.data() + at, size, batch);
    at += size;
    return;
  }
  data.copy(slots[taken % slots.size()], batch);
  int64_t left;
  {
    std::lock_guard lock(mutex);
    left = filled - ++taken;
  }
  // Wake the thread when half of the slots are free, so that it fills several. It only waits while
  // all slots are full.
  if (left <= static_cast<int64_t>(slots.size()) / 2)
    wasTaken.notify_one();
}
