//===- EmulatorLaunch.h - one launch of an emulated kernel -----------*- C++ -*-===//
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

/// What the threads of the system that run the blocks of a launch share.
///
/// A block has a position: its place in the order in which blocks are started. An atomic operation
/// on device memory, and an error message, waits until all blocks at earlier positions have arrived
/// at their end or wait for other blocks, so that it comes out as if one thread of the system ran
/// them all, one after the other. Blocks that wait go on in the next phase, which begins when all
/// blocks have arrived.
class Launch {
public:
  Launch(const std::string &name, KernelBody kernel, const Dimensions &grid,
         const Dimensions &block, void **arguments, uint64_t dynamicBytes, bool cooperative);

  /// Draws the order of the blocks. 0: the natural one.
  void shuffle(uint64_t seed);

  /// The next position to run; at least blockCount(): there is none.
  uint64_t takePosition();
  uint64_t blockCount() const { return grid.count(); }
  Dimensions blockAt(uint64_t position) const;

  /// Returns once all earlier positions have arrived.
  void awaitTurn(uint64_t position);
  void finish(uint64_t position);
  /// What a block waits for other blocks at: its `thread` reads the same value again and again.
  struct Waiting {
    Dimensions thread;
    const char *site;
    /// Whether a thread of the block has run in this phase.
    bool moved;
  };
  void suspend(uint64_t position, const Waiting &waiting);
  /// Returns once all blocks have arrived. Each thread of the system that has suspended blocks
  /// calls it once in each `phase`, counted from 0.
  void awaitPhase(uint64_t phase);

  const std::string name;
  const KernelBody kernel;
  const Dimensions grid, block;
  void **const arguments;
  const uint64_t dynamicBytes;
  const bool cooperative;
  const KernelFacts facts;
  uint64_t seed = 0;
  /// What may be accessed of the memory of the device; set before any block runs.
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
  /// All positions before have arrived.
  uint64_t arrived = 0;
  uint64_t waiting = 0, phase = 0;
  bool moved = false;
  /// Which block comes first of those that wait, and where.
  uint64_t firstPosition = 0;
  Waiting firstWaiting = {};
};

/// "(x, y, z)"
std::string describe(const Dimensions &at);

/// Prints the one line that ends the program. `where` is empty or ", block ..., thread ...".
[[noreturn]] void endProgram(const std::string &kernel, const std::string &where,
                             const std::string &what);

} // namespace bppsa::runtime::emulator

#endif // BPPSA_LIB_EMULATOR_EMULATORLAUNCH_H
