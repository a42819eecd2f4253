//===- Emulator.h - runs GPU kernels on the CPU -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_EMULATOR_EMULATOR_H
#define BPPSA_EMULATOR_EMULATOR_H

#include "bppsa/Emulator/EmulatorInterface.h"

#include <cstdint>
#include <memory>
#include <string>

namespace bppsa::runtime {

struct Dimensions {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// The body of one CUDA thread; see EmulatorInterface.h.
using KernelBody = void (*)(void **arguments);

/// An emulated GPU that runs each CUDA thread as a fiber. Undefined behaviour of a kernel ends the
/// program with exit status 1 and one line on stderr:
///
///   error: kernel 'NAME', block (x, y, z), thread (x, y, z): MESSAGE; SITE
///
/// Results depend only on the seed, not on the number of system threads.
class Emulator {
public:
  Emulator();
  ~Emulator();
  Emulator(const Emulator &) = delete;

  static constexpr int64_t multiprocessors = 16, residentThreads = 2048;

  /// Aligned to 256 bytes and filled with 0xAB. Throws std::bad_alloc.
  void *allocate(uint64_t bytes);
  void release(void *memory);

  /// Runs every block of the grid with `sharedBytes` of dynamic shared memory. Blocks may only wait
  /// for each other in a `cooperative` launch, whose threads must all be resident.
  void launch(const std::string &name, KernelBody kernel, const Dimensions &grid,
              const Dimensions &block, void **arguments, uint64_t sharedBytes = 0,
              bool cooperative = false);

  /// Seed 0 runs blocks, warps and threads in natural order; others randomize scheduling.
  void setSeed(uint64_t seed);
  void setThreads(int threads);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace bppsa::runtime

#endif // BPPSA_EMULATOR_EMULATOR_H
