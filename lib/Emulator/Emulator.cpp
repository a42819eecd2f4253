//===- Emulator.cpp - runs GPU kernels on the CPU -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Emulator/Emulator.h"
#include "EmulatorBlock.h"
#include "bppsa/Runtime/Threads/ThreadPool.h"
#include "bppsa/Runtime/Threads/Threads.h"

#include <algorithm>
#include <immintrin.h>

using namespace bppsa::runtime;
using namespace bppsa::runtime::emulator;

struct Emulator::State {
  DeviceMemory memory;
  uint64_t seed = 0, launches = 0;
  int threads = availableCores();
  std::unique_ptr<ThreadPool> pool;
};

Emulator::Emulator() : state(std::make_unique<State>()) {}
Emulator::~Emulator() = default;

void *Emulator::allocate(uint64_t bytes) { return state->memory.allocate(bytes); }
void Emulator::release(void *memory) { state->memory.release(memory); }
void Emulator::setSeed(uint64_t seed) { state->seed = seed; }
void Emulator::setThreads(int threads) { state->threads = std::max(threads, 1); }

namespace {
/// GPUs preserve subnormals; CPU kernels flush them.
class KeepDenormals {
public:
  KeepDenormals() : before(_mm_getcsr()) { _mm_setcsr(before & ~0x8040u); }
  ~KeepDenormals() { _mm_setcsr(before); }

private:
  unsigned before;
};
} // namespace

static StackPool &stacks() {
  static thread_local StackPool pool;
  return pool;
}

static void finishWaiting(Launch &launch, std::vector<std::unique_ptr<Block>> blocks) {
  for (uint64_t phase = 0; !blocks.empty(); ++phase) {
    launch.awaitPhase(phase);
    std::vector<std::unique_ptr<Block>> waiting;
    for (std::unique_ptr<Block> &block : blocks) {
      if (block->run()) {
        launch.finish(block->position);
        continue;
      }
      block->suspend();
      waiting.push_back(std::move(block));
    }
    blocks = std::move(waiting);
  }
}

static void runBlocks(Launch &launch) {
  KeepDenormals mode;
  std::unique_ptr<Block> block;
  std::vector<std::unique_ptr<Block>> waiting;
  for (uint64_t position; (position = launch.takePosition()) < launch.blockCount();) {
    if (!block)
      block = std::make_unique<Block>(launch, stacks());
    block->start(position);
    if (block->run()) {
      launch.finish(position);
      continue;
    }
    block->suspend();
    waiting.push_back(std::move(block));
  }
  block.reset();
  finishWaiting(launch, std::move(waiting));
}

/// Ignores its range: blocks are taken from a queue.
static void runShareOfBlocks(int64_t, int64_t, void *captures) {
  auto &launch = *static_cast<Launch *>(captures);
  try {
    runBlocks(launch);
  } catch (const std::bad_alloc &) {
    endProgram(launch.name, "", "out of memory for the stacks of its threads");
  }
}

void Emulator::launch(const std::string &name, KernelBody kernel, const Dimensions &grid,
                      const Dimensions &block, void **arguments, uint64_t sharedBytes,
                      bool cooperative) {
  if (grid.count() == 0)
    return;
  Launch launch(name, kernel, grid, block, arguments, sharedBytes, cooperative);
  ++state->launches;
  if (state->seed != 0)
    launch.shuffle(Random(Random(state->seed).next() + state->launches).next() | 1);
  launch.ranges = state->memory.ranges();
  uint64_t threads = std::min<uint64_t>(state->threads, launch.blockCount());
  if (threads <= 1)
    return runShareOfBlocks(0, 1, &launch);
  if (!state->pool || state->pool->size != state->threads)
    state->pool = std::make_unique<ThreadPool>(state->threads);
  state->pool->run(
      {runShareOfBlocks, &launch, static_cast<int64_t>(threads), static_cast<int32_t>(threads)});
}
