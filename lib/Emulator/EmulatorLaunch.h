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

/// State shared by the system threads that run the blocks of a launch.
///
/// The position of a block is its index in the start order. Atomic operations on device memory and
/// error messages wait until every block at an earlier position has finished or waits for other
/// blocks. The result is therefore the same as if one system thread ran all blocks in order.
/// Waiting blocks resume in the next phase, which begins after all blocks have finished or wait.
class Launch {
public:
  Launch(const std::string &name, KernelBody kernel, const Dimensions &grid,
         const Dimensions &block, void **arguments, uint64_t dynamicBytes, bool cooperative);

  /// Randomizes the order of the blocks; seed 0 keeps the natural order.
  void shuffle(uint64_t seed);

  /// Returns the next position to run, or at least blockCount() if none is left.
  uint64_t takePosition();
  uint64_t blockCount() const { return grid.count(); }
  Dimensions blockAt(uint64_t position) const;

  /// Blocks until every earlier position has finished or waits for other blocks.
  void awaitTurn(uint64_t position);
  void finish(uint64_t position);
  /// A block that waits for other blocks because its `thread` polls a value.
  struct Waiting {
    Dimensions thread;
    const char *site;
    /// True if any thread of the block has run in this phase.
    bool moved;
  };
  void suspend(uint64_t position, const Waiting &waiting);
  /// Blocks until every block has finished or waits. Each system thread with suspended blocks calls
  /// it once per `phase`, counted from 0.
  void awaitPhase(uint64_t phase);

  const std::string name;
  const KernelBody kernel;
  const Dimensions grid, block;
  void **const arguments;
  const uint64_t dynamicBytes;
  const bool cooperative;
  const KernelProperties facts;
  uint64_t seed = 0;
  /// Accessible ranges of device memory; set before any block runs.
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
  /// All positions below this have finished or wait.
  uint64_t arrived = 0;
  uint64_t waiting = 0, phase = 0;
  bool moved = false;
  /// The waiting block with the lowest position.
  uint64_t firstPosition = 0;
  Waiting firstWaiting = {};
};

/// Formats as "(x, y, z)".
std::string describe(const Dimensions &at);

/// Prints an error line and exits. `where` is empty or ", block ..., thread ...".
[[noreturn]] void endProgram(const std::string &kernel, const std::string &where,
                             const std::string &what);

} // namespace bppsa::runtime::emulator

#endif // BPPSA_LIB_EMULATOR_EMULATORLAUNCH_H
