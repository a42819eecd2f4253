//===- EmulatedStreams.cpp - adversarially ordered streams ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "EmulatedStreams.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Training/Random.h"

#include <algorithm>

using namespace bppsa::runtime;
using namespace bppsa::runtime::emulator;

void EmulatedStreams::add(std::function<void()> work) {
  queues[selected].push_back({std::move(work)});
  ++clocks[selected].given;
}

void EmulatedStreams::record(int64_t event) {
  size_t index = records.size();
  records.push_back({selected, given()});
  numbers[event] = index + 1;
  queues[selected].push_back({[this, index] { records[index].isReached = true; }});
}

void EmulatedStreams::wait(int64_t event) {
  auto found = numbers.find(event);
  if (found == numbers.end())
    fail("a function waits for event ", event,
         ", which it has not recorded; compile the model again");
  const Record &record = records[found->second - 1];
  if (record.stream != selected)
    clocks[selected].waited = std::max(clocks[selected].waited, record.given);
  queues[selected].push_back({{}, found->second});
}

/// Returns false if the stream is empty or blocked.
bool EmulatedStreams::step(int64_t stream) {
  std::deque<Item> &queue = queues[stream];
  if (queue.empty() || (queue.front().awaited > 0 && !records[queue.front().awaited - 1].isReached))
    return false;
  Item next = std::move(queue.front());
  queue.pop_front();
  if (next.work)
    next.work();
  return true;
}

void EmulatedStreams::run() {
  Random random(seed + runs++);
  while (!isEmpty()) {
    int64_t first = seed < 2 ? static_cast<int64_t>(seed) : static_cast<int64_t>(random.below(2));
    // Events are recorded before waits, so one stream can proceed.
    if (!step(first))
      step(1 - first);
  }
  reset();
}

void EmulatedStreams::reset() {
  records.clear();
  numbers.clear();
  clocks[0] = {1, 0};
  clocks[1] = {0, 0};
  selected = 0;
}
