//===- EmulatorLaunch.cpp - one launch of an emulated kernel --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "EmulatorLaunch.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Random.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <unistd.h>

using namespace bppsa::runtime;
using namespace bppsa::runtime::emulator;

std::string bppsa::runtime::emulator::describe(const Dimensions &at) {
  return text("(", at.x, ", ", at.y, ", ", at.z, ")");
}

void bppsa::runtime::emulator::endProgram(const std::string &kernel, const std::string &where,
                                          const std::string &what) {
  fflush(stdout);
  std::string line = text("error: kernel ", quote(kernel), where, ": ", what, "\n");
  for (size_t at = 0; at < line.size();) {
    ssize_t count = write(STDERR_FILENO, line.data() + at, line.size() - at);
    if (count <= 0)
      break;
    at += static_cast<size_t>(count);
  }
  // Other threads of the system are still running blocks, so no destructor may run.
  _exit(1);
}

/// The limits of the hardware, of compute capability 8.0 and up.
static std::string findLimit(const Dimensions &grid, const Dimensions &block, uint64_t dynamicBytes,
                             const KernelFacts &facts) {
  constexpr uint64_t sharedLimit = 227 << 10;
  uint64_t shared = dynamicBytes;
  for (const Range &array : facts.arrays)
    shared += array.end - array.begin;
  if (block.count() == 0 || block.count() > facts.maxThreads || block.z > 64 || block.x > 1024 ||
      block.y > 1024)
    return text("a block of ", describe(block), " threads; at most ", facts.maxThreads,
                " threads, (1024, 1024, 64), are allowed");
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535 || grid.count() > 0xffffffffu)
    return text("a grid of ", describe(grid), " blocks; at most (2147483647, 65535, 65535)");
  if (shared > sharedLimit)
    return text(shared, " bytes of shared memory; at most ", sharedLimit);
  return "";
}

Launch::Launch(const std::string &launchName, KernelBody launchKernel, const Dimensions &gridSize,
               const Dimensions &blockSize, void **launchArguments, uint64_t sharedBytes)
    : name(launchName), kernel(launchKernel), grid(gridSize), block(blockSize),
      arguments(launchArguments), dynamicBytes(sharedBytes), facts(kernelFacts(launchKernel)) {
  std::string limit = findLimit(grid, block, dynamicBytes, facts);
  if (!limit.empty())
    endProgram(name, "", limit);
  progress.resize(blockCount());
}

void Launch::shuffle(uint64_t launchSeed) {
  seed = launchSeed;
  if (seed == 0)
    return;
  Random random(seed);
  order.resize(blockCount());
  std::iota(order.begin(), order.end(), 0u);
  for (uint64_t left = order.size(); left > 1; --left)
    std::swap(order[left - 1], order[random.below(left)]);
}

Dimensions Launch::blockAt(uint64_t position) const {
  uint64_t index = order.empty() ? position : order[position];
  return {static_cast<uint32_t>(index % grid.x), static_cast<uint32_t>(index / grid.x % grid.y),
          static_cast<uint32_t>(index / grid.x / grid.y)};
}

uint64_t Launch::takePosition() {
  std::lock_guard<std::mutex> lock(mutex);
  return nextPosition < blockCount() ? nextPosition++ : nextPosition;
}

void Launch::awaitTurn(uint64_t position) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return arrived >= position; });
}

void Launch::arrive(uint64_t position, Progress to) {
  progress[position] = to;
  while (arrived < progress.size() && progress[arrived] != Progress::Running)
    ++arrived;
  if (arrived == progress.size() && waiting > 0) {
    if (finished > 0)
      failGrid();
    waiting = arrived = 0;
    std::fill(progress.begin(), progress.end(), Progress::Running);
    ++gridPhase;
  }
  changed.notify_all();
}

void Launch::finish(uint64_t position) {
  std::lock_guard<std::mutex> lock(mutex);
  ++finished;
  arrive(position, Progress::Finished);
}

void Launch::suspend(uint64_t position, const char *site) {
  std::lock_guard<std::mutex> lock(mutex);
  if (waiting++ == 0 || position < gridPosition) {
    gridPosition = position;
    gridSite = site;
  }
  arrive(position, Progress::Waiting);
}

void Launch::awaitGrid(uint64_t phase) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return gridPhase > phase; });
}

void Launch::failGrid() {
  auto gone = std::find(progress.begin(), progress.end(), Progress::Finished);
  uint64_t gonePosition = static_cast<uint64_t>(gone - progress.begin());
  endProgram(name, text(", block ", describe(blockAt(gridPosition)), ", thread (0, 0, 0)"),
             text("the barrier of the grid is never reached by block ",
                  describe(blockAt(gonePosition)), ", which has exited; ", gridSite));
}
