//===- EmulatorLaunch.h - one launch of an emulated kernel ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_EMULATOR_EMULATORLAUNCH_H
#define BPPSA_LIB_EMULATOR_EMULATORLAUNCH_H

#include "EmulatorMemory.h"
#include "bppsa/Emulator/Emulator.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace bppsa::runtime::emulator {

/// State shared by the system threads of a launch.
///
/// A block's position is its index in the start order. Atomics on device memory and errors wait
/// until all earlier positions have finished or wait for other blocks, so results are as if one
/// thread ran all blocks in order. Waiting blocks resume in the next phase.
class Launch {
public:
  Launch(const std::string &name, KernelBody kernel, const Dimensions &grid,
         const Dimensions &block, void **arguments, uint64_t dynamicBytes, bool cooperative);

  /// Randomizes the order of blocks unless `seed` is 0.
  void shuffle(uint64_t seed);

  /// Returns at least blockCount() if no position is left.
  uint64_t takePosition();
  uint64_t blockCount() const { return grid.count(); }
  Dimensions blockAt(uint64_t position) const;

  /// Waits until earlier positions have finished or wait.
  void awaitTurn(uint64_t position);
  void finish(uint64_t position);
  /// A block that waits because `thread` polls a value.
  struct Waiting {
    Dimensions thread;
    const char *site;
    bool moved;
  };
  void suspend(uint64_t position, const Waiting &waiting);
  /// Waits until every block has finished or waits. Called once per `phase` by threads with
  /// suspended blocks.
  void awaitPhase(uint64_t phase);

  const std::string name;
  const KernelBody kernel;
  const Dimensions grid, block;
  void **const arguments;
  const uint64_t dynamicBytes;
  const bool cooperative;
  const KernelProperties facts;
  uint64_t seed = 0;
  /// Must be set before any block runs.
  std::vector<Range> ranges;

private:
  enum class Progress : uint8_t { Running, Waiting, Finished };
  void arrive(uint64_t position, Progress progress);
  void countArrived();
  [[noreturn]] void failWaiting();

  std::vector<uint32_t> order;
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t nextPosition = 0;
  std::vector<Progress> progress;
  /// All positions below have finished or wait.
  uint64_t arrived = 0;
  uint64_t waiting = 0, phase = 0;
  bool moved = false;
  uint64_t firstPosition = 0;
  Waiting firstWaiting = {};
};

std::string describe(const Dimensions &at);

[[noreturn]] void endProgram(const std::string &kernel, const std::string &where,
                             const std::string &what);

} // namespace bppsa::runtime::emulator

#endif // BPPSA_LIB_EMULATOR_EMULATORLAUNCH_H
