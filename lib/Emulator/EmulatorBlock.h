//===- EmulatorBlock.h - runs the threads of a block as fibers --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_EMULATOR_EMULATORBLOCK_H
#define BPPSA_LIB_EMULATOR_EMULATORBLOCK_H

#include "EmulatorFiber.h"
#include "EmulatorLaunch.h"
#include "EmulatorShared.h"
#include "bppsa/Runtime/Training/Random.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace bppsa::runtime::emulator {

class Block;

/// An operation that the lanes in `mask` perform together.
struct WarpOperation {
  enum Kind : uint8_t { Shuffle, Vote, Barrier, Mma };
  enum Factors : uint32_t { TF32, BF16 };
  Kind kind;
  /// See EmulatorInterface.h; for an mma, one of Factors.
  uint32_t mode = 0;
  uint32_t mask = ~0u;
  uint32_t value = 0;
  uint32_t lane = 0, clamp = 0;
  const uint32_t *a = nullptr, *b = nullptr;
  const float *c = nullptr;
  float *d = nullptr;

  uint32_t result = 0;
  bool inRange = false;
};

struct AsyncCopy {
  char *shared;
  const char *global;
  uint64_t bytes, sourceBytes;
  uint32_t group;
  const char *site;
};

struct Thread {
  enum State : uint8_t { Ready, AtWarp, AtBarrier, Polling, Done };
  Block *block;
  uint32_t index;
  Dimensions at;
  State state;
  const char *site;
  char *stack;
  void *stackPointer;
  /// See leaveStack().
  void *sanitizerState = nullptr;
  WarpOperation *operation;
  Clock clock;
  std::vector<AsyncCopy> copies;
  uint32_t copyGroup;
  /// The atomic load, if it was the thread's last access.
  const void *polled;
  uint64_t polledBytes, polledValue;

  uint32_t lane() const { return index % kWarpSize; }
};

Thread &currentThread();

[[noreturn]] void failThread(const Thread &thread, const std::string &what, const char *site);

/// A reusable set of threads. Each runs until it waits for others, always on the same system
/// thread.
class Block {
public:
  Block(Launch &launch, StackPool &stacks);
  ~Block();
  Block(const Block &) = delete;

  void start(uint64_t position);
  /// Returns false if some threads wait for other blocks.
  bool run();
  /// Defers remaining work to the launch's next phase.
  void suspend();

  /// Yields the running thread until its event has occurred.
  void wait(Thread &thread, Thread::State state, const char *site);
  void access(Thread &thread, const void *address, uint64_t bytes, uint32_t flags,
              const char *site);
  /// Called before an atomic load. If it would return the same value again, yields until the value
  /// changes.
  void poll(Thread &thread, const void *address, uint64_t bytes, const char *site);
  void issueCopy(Thread &thread, const AsyncCopy &copy);
  /// Completes copies with a group number below `group`.
  void completeCopies(Thread &thread, uint32_t group);
  /// Returns fewer than 32 lanes for a partial last warp.
  uint32_t lanesOf(uint32_t warp) const;
  /// Returns at least the size of shared memory if `address` is outside.
  uint64_t sharedOffset(const void *address) const {
    return static_cast<uint64_t>(static_cast<const char *>(address) - shared.data());
  }

  Launch &launch;
  SharedMemory shared;
  uint64_t position = 0;
  Dimensions at;

  static void runThread();

private:
  uint32_t warpCount() const { return static_cast<uint32_t>(ready.size()); }
  Thread &threadOf(uint32_t warp, uint32_t lane) { return threads[warp * kWarpSize + lane]; }
  void resume(Thread &thread);
  void setReady(Thread &thread);

  void runInOrder();
  void runShuffled();
  void runLanes(uint32_t warp);
  void checkStuck(uint32_t warp);
  bool allAt(Thread::State state) const;
  bool wakePolling();
  [[noreturn]] void failBarrier();
  bool passBarrier();

  bool resolve(uint32_t warp);
  bool matches(const Thread &first, const Thread &other) const;
  void execute(uint32_t warp, uint32_t group, Thread &first);
  void shuffle(uint32_t warp, uint32_t group);
  void vote(uint32_t warp, uint32_t group, uint32_t mode);
  void joinClocks(uint32_t warp, uint32_t group);
  void multiply(uint32_t warp, uint32_t mode);

  StackPool &stacks;
  std::vector<Thread> threads;
  std::vector<uint32_t> ready;
  uint32_t done = 0;
  bool moved = false;
  void *schedulerStack = nullptr, *schedulerState = nullptr;
  SystemStack systemStack;
  Random random;
  /// The range last accessed at a site; most sites access only one.
  struct Found {
    const char *site = nullptr;
    const Range *range = nullptr;
  };
  std::array<Found, 64> found;
};

} // namespace bppsa::runtime::emulator

#endif // BPPSA_LIB_EMULATOR_EMULATORBLOCK_H
