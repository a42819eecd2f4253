//===- EmulatorLaunch.cpp - one launch of an emulated kernel --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "EmulatorLaunch.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Training/Random.h"

#include <algorithm>
#include <atomic>
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
  // Only one thread reports an error.
  static std::atomic_flag ends = ATOMIC_FLAG_INIT;
  while (ends.test_and_set())
    pause();
  fflush(stdout);
  std::string line = text("error: kernel ", quote(kernel), where, ": ", what, "\n");
  for (size_t at = 0; at < line.size();) {
    ssize_t count = write(STDERR_FILENO, line.data() + at, line.size() - at);
    if (count <= 0)
      break;
    at += static_cast<size_t>(count);
  }
  // Other threads are running, so run no destructors.
  _exit(1);
}

/// Checks the limits of compute capability 8.0 and higher.
static std::string findLimit(const Dimensions &grid, const Dimensions &block, uint64_t dynamicBytes,
                             bool cooperative, const KernelProperties &facts) {
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
  constexpr uint64_t resident = Emulator::multiprocessors * Emulator::residentThreads;
  if (cooperative && grid.count() * block.count() > resident)
    return text("a cooperative launch of ", grid.count(), " blocks of ", block.count(),
                " threads; the emulated GPU holds ", resident, " threads at a time");
  return "";
}

Launch::Launch(const std::string &launchName, KernelBody launchKernel, const Dimensions &gridSize,
               const Dimensions &blockSize, void **launchArguments, uint64_t sharedBytes,
               bool isCooperative)
    : name(launchName), kernel(launchKernel), grid(gridSize), block(blockSize),
      arguments(launchArguments), dynamicBytes(sharedBytes), cooperative(isCooperative),
      facts(kernelFacts(launchKernel)) {
  std::string limit = findLimit(grid, block, dynamicBytes, cooperative, facts);
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

void Launch::countArrived() {
  while (arrived < progress.size() && progress[arrived] != Progress::Running)
    ++arrived;
}

void Launch::arrive(uint64_t position, Progress to) {
  progress[position] = to;
  countArrived();
  if (arrived == progress.size() && waiting > 0) {
    if (!moved)
      failWaiting();
    std::replace(progress.begin(), progress.end(), Progress::Waiting, Progress::Running);
    waiting = arrived = 0;
    moved = false;
    ++phase;
    countArrived();
  }
  changed.notify_all();
}

void Launch::finish(uint64_t position) {
  std::lock_guard<std::mutex> lock(mutex);
  moved = true;
  arrive(position, Progress::Finished);
}

void Launch::suspend(uint64_t position, const Waiting &at) {
  std::lock_guard<std::mutex> lock(mutex);
  if (waiting++ == 0 || position < firstPosition) {
    firstPosition = position;
    firstWaiting = at;
  }
  moved |= at.moved;
  arrive(position, Progress::Waiting);
}

void Launch::awaitPhase(uint64_t last) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return phase > last; });
}

void Launch::failWaiting() {
  endProgram(
      name,
      text(", block ", describe(blockAt(firstPosition)), ", thread ",
           describe(firstWaiting.thread)),
      text("waits for ever: every other block waits too or has exited; ", firstWaiting.site));
}
