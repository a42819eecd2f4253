//===- EmulatorBlock.cpp - runs the threads of a block as fibers ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "EmulatorBlock.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cstring>

using namespace bppsa::runtime;
using namespace bppsa::runtime::emulator;

static thread_local Thread *runningThread = nullptr;

Thread &bppsa::runtime::emulator::currentThread() { return *runningThread; }

void bppsa::runtime::emulator::failThread(const Thread &thread, const std::string &what,
                                          const char *site) {
  Block &block = *thread.block;
  block.launch.awaitTurn(block.position);
  endProgram(block.launch.name,
             text(", block ", describe(block.at), ", thread ", describe(thread.at)),
             text(what, "; ", site));
}

Block::Block(Launch &blockLaunch, StackPool &pool)
    : launch(blockLaunch), shared(blockLaunch.facts.arrays, blockLaunch.dynamicBytes), stacks(pool),
      random(0) {
  uint32_t count = static_cast<uint32_t>(launch.block.count());
  threads.resize(count);
  ready.resize((count + kWarpSize - 1) / kWarpSize);
  for (uint32_t i = 0; i < count; ++i) {
    Thread &thread = threads[i];
    thread.block = this;
    thread.index = i;
    thread.at = {i % launch.block.x, i / launch.block.x % launch.block.y,
                 i / launch.block.x / launch.block.y};
    thread.stack = stacks.take();
  }
  shared.setNames(this, [](const void *self, uint32_t index) {
    return describe(static_cast<const Block *>(self)->threads[index].at);
  });
}

Block::~Block() {
  for (Thread &thread : threads)
    stacks.give(thread.stack);
}

void Block::start(uint64_t blockPosition) {
  position = blockPosition;
  at = launch.blockAt(position);
  shared.reset();
  done = 0;
  // Seeded by position, independently of system threads.
  random = Random(Random(launch.seed + position).next());
  for (Thread &thread : threads) {
    thread.stackPointer = prepareStack(thread.stack, runThread);
    thread.clock.fill(0);
    thread.clock[thread.lane()] = 1;
    thread.copies.clear();
    thread.copyGroup = 0;
    thread.polled = nullptr;
    setReady(thread);
  }
}

void Block::setReady(Thread &thread) {
  thread.state = Thread::Ready;
  ready[thread.index / kWarpSize] |= 1u << thread.lane();
}

uint32_t Block::lanesOf(uint32_t warp) const {
  uint32_t count = static_cast<uint32_t>(threads.size()) - warp * kWarpSize;
  return count >= kWarpSize ? ~0u : (1u << count) - 1;
}

void Block::resume(Thread &thread) {
  ready[thread.index / kWarpSize] &= ~(1u << thread.lane());
  moved = true;
  runningThread = &thread;
  leaveStack(&schedulerState, thread.stack, kStackBytes);
  bppsa_emu_switch(&schedulerStack, thread.stackPointer);
  enterStack(schedulerState);
}

void Block::runThread() {
  Thread &thread = currentThread();
  Block &block = *thread.block;
  enterStack(nullptr, &block.systemStack);
  block.launch.kernel(block.launch.arguments);
  block.completeCopies(thread, ~0u);
  ++block.done;
  block.wait(thread, Thread::Done, nullptr);
  __builtin_unreachable();
}

void Block::wait(Thread &thread, Thread::State state, const char *site) {
  thread.state = state;
  thread.site = site;
  leaveStack(state == Thread::Done ? nullptr : &thread.sanitizerState, systemStack.bottom,
             systemStack.bytes);
  bppsa_emu_switch(&thread.stackPointer, schedulerStack);
  enterStack(thread.sanitizerState, &systemStack);
}

static uint64_t readAtomically(const void *address, uint64_t bytes) {
  if (bytes == sizeof(uint64_t))
    return __atomic_load_n(static_cast<const uint64_t *>(address), __ATOMIC_ACQUIRE);
  return __atomic_load_n(static_cast<const uint32_t *>(address), __ATOMIC_ACQUIRE);
}

bool Block::run() {
  moved = false;
  do {
    if (launch.seed == 0)
      runInOrder();
    else
      runShuffled();
    if (done == threads.size())
      return true;
  } while (wakePolling() || passBarrier());
  return false;
}

bool Block::wakePolling() {
  bool woken = false;
  for (Thread &thread : threads) {
    if (thread.state != Thread::Polling ||
        readAtomically(thread.polled, thread.polledBytes) == thread.polledValue)
      continue;
    setReady(thread);
    woken = true;
  }
  return woken;
}

void Block::poll(Thread &thread, const void *address, uint64_t bytes, const char *site) {
  uint64_t value = readAtomically(address, bytes);
  if (thread.polled == address && thread.polledValue == value) {
    wait(thread, Thread::Polling, site);
    value = readAtomically(address, bytes);
  }
  thread.polled = address;
  thread.polledBytes = bytes;
  thread.polledValue = value;
}

void Block::suspend() {
  const Thread &thread = *std::find_if(threads.begin(), threads.end(), [](const Thread &other) {
    return other.state == Thread::Polling;
  });
  if (!launch.cooperative)
    failThread(thread, "waits for other blocks in a launch that is not cooperative", thread.site);
  launch.suspend(position, {thread.at, thread.site, moved});
}

void Block::runInOrder() {
  for (uint32_t warp = 0; warp < warpCount(); ++warp) {
    do
      for (uint32_t lanes = ready[warp]; lanes != 0; lanes &= lanes - 1)
        resume(threadOf(warp, static_cast<uint32_t>(__builtin_ctz(lanes))));
    while (resolve(warp));
    checkStuck(warp);
  }
}

void Block::runShuffled() {
  std::vector<uint32_t> runnable;
  for (uint32_t warp = 0; warp < warpCount(); ++warp)
    if (ready[warp] != 0)
      runnable.push_back(warp);
  while (!runnable.empty()) {
    uint32_t &warp = runnable[random.below(runnable.size())];
    std::array<uint32_t, kWarpSize> lanes;
    uint32_t count = 0;
    for (uint32_t left = ready[warp]; left != 0; left &= left - 1)
      lanes[count++] = static_cast<uint32_t>(__builtin_ctz(left));
    for (; count > 0; --count) {
      std::swap(lanes[count - 1], lanes[random.below(count)]);
      resume(threadOf(warp, lanes[count - 1]));
    }
    if (resolve(warp))
      continue;
    checkStuck(warp);
    warp = runnable.back();
    runnable.pop_back();
  }
}

bool Block::allAt(Thread::State state) const {
  return std::all_of(threads.begin(), threads.end(), [&](const Thread &thread) {
    return thread.state == state && !strcmp(thread.site, threads[0].site);
  });
}

/// Returns false if a thread polls a value of another block.
bool Block::passBarrier() {
  if (std::any_of(threads.begin(), threads.end(),
                  [](const Thread &thread) { return thread.state == Thread::Polling; }))
    return false;
  if (!allAt(Thread::AtBarrier))
    failBarrier();
  shared.passBarrier();
  for (Thread &thread : threads)
    setReady(thread);
  return true;
}

/// Reports threads that wait at different barriers.
void Block::failBarrier() {
  const Thread *first = &threads[0];
  while (first->state == Thread::Done)
    ++first;
  const Thread *other = &threads[0];
  while (other->state == first->state && !strcmp(other->site, first->site))
    ++other;
  std::string reason =
      other->state == Thread::Done ? "has exited" : text("waits at the barrier at ", other->site);
  failThread(
      *first,
      text("divergent barrier: thread ", describe(other->at), " never reaches it, it ", reason),
      first->site);
}
