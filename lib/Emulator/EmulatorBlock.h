//===- EmulatorBlock.h - the threads of a block as fibers ------------*- C++ -*-===//
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

/// An operation that the lanes in `mask` do together.
struct WarpOperation {
  enum Kind : uint8_t { Shuffle, Vote, Barrier, Mma };
  /// Modes of an mma.
  enum Factors : uint32_t { TF32, BF16 };
  Kind kind;
  /// Of a shuffle or a vote, see EmulatorInterface.h; or the factors of an mma.
  uint32_t mode = 0;
  uint32_t mask = ~0u;
  uint32_t value = 0;
  /// Of a shuffle.
  uint32_t lane = 0, clamp = 0;
  /// Of an mma.
  const uint32_t *a = nullptr, *b = nullptr;
  const float *c = nullptr;
  float *d = nullptr;

  uint32_t result = 0;
  bool inRange = false;
};

/// A cp.async that has been issued.
struct AsyncCopy {
  char *shared;
  const char *global;
  uint64_t bytes, sourceBytes;
  uint32_t group;
  const char *site;
};

/// One CUDA thread.
struct Thread {
  enum State : uint8_t { Ready, AtWarp, AtBarrier, Polling, Done };
  Block *block;
  uint32_t index;
  Dimensions at;
  State state;
  /// Of what the thread waits for.
  const char *site;
  char *stack;
  void *stackPointer;
  /// See leaveStack().
  void *sanitizerState = nullptr;
  WarpOperation *operation;
  Clock clock;
  std::vector<AsyncCopy> copies;
  uint32_t copyGroup;
  /// What an atomic load has found, if that was the last access of the thread.
  const void *polled;
  uint64_t polledBytes, polledValue;

  uint32_t lane() const { return index % kWarpSize; }
};

/// The thread that is running on this thread of the system.
Thread &currentThread();

/// Ends the program because of what `thread` does.
[[noreturn]] void failThread(const Thread &thread, const std::string &what, const char *site);

/// The threads of one block after another. Threads run until they wait for others; they never
/// change the thread of the system.
class Block {
public:
  Block(Launch &launch, StackPool &stacks);
  ~Block();
  Block(const Block &) = delete;

  /// Starts the block at `position`.
  void start(uint64_t position);
  /// Runs until all threads are done (true) or some wait for other blocks, see suspend().
  bool run();
  /// Leaves the rest to the next phase of the launch.
  void suspend();

  /// Called by the running thread: gives way to others until what it waits for has happened.
  void wait(Thread &thread, Thread::State state, const char *site);
  /// Checks an access of the running thread, see EmulatorInterface.h.
  void access(Thread &thread, const void *address, uint64_t bytes, uint32_t flags,
              const char *site);
  /// Before an atomic load of the running thread: gives way where it would find again what it has
  /// just found, until that has changed.
  void poll(Thread &thread, const void *address, uint64_t bytes, const char *site);
  void issueCopy(Thread &thread, const AsyncCopy &copy);
  /// Completes the copies whose group is before `group`.
  void completeCopies(Thread &thread, uint32_t group);
  /// The lanes that a warp has: fewer than 32 at the end of some blocks.
  uint32_t lanesOf(uint32_t warp) const;
  /// Where in shared memory `address` is; a number beyond its size: not there.
  uint64_t sharedOffset(const void *address) const {
    return static_cast<uint64_t>(static_cast<const char *>(address) - shared.data());
  }

  Launch &launch;
  SharedMemory shared;
  uint64_t position = 0;
  Dimensions at;

  /// The body of each fiber.
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
  /// For each warp the lanes that can run.
  std::vector<uint32_t> ready;
  uint32_t done = 0;
  /// Whether a thread has run since run() was called.
  bool moved = false;
  void *schedulerStack = nullptr, *schedulerState = nullptr;
  SystemStack systemStack;
  Random random;
  /// The ranges that accesses at a site found last; most sites stay in one.
  struct Found {
    const char *site = nullptr;
    const Range *range = nullptr;
  };
  std::array<Found, 64> found;
};

} // namespace bppsa::runtime::emulator

#endif // BPPSA_LIB_EMULATOR_EMULATORBLOCK_H
