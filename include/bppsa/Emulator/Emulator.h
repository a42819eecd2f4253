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

/// An emulated GPU: its memory, and launches that run each CUDA thread as a fiber. Undefined
/// behaviour of a kernel ends the program with exit status 1 and one line on stderr:
///
///   error: kernel 'NAME', block (x, y, z), thread (x, y, z): MESSAGE; SITE
///
/// Results depend only on the seed, not on the number of system threads.
class Emulator {
public:
  Emulator();
  ~Emulator();
  Emulator(const Emulator &) = delete;

  /// Size of the emulated GPU, which is small; threads are per multiprocessor.
  static constexpr int64_t multiprocessors = 16, residentThreads = 2048;

  /// Allocates device memory, aligned to 256 bytes and filled with 0xAB. Throws std::bad_alloc if
  /// memory is exhausted.
  void *allocate(uint64_t bytes);
  void release(void *memory);

  /// Runs every block of the grid. `sharedBytes` is dynamic shared memory in addition to the static
  /// arrays of the kernel. Blocks may wait for each other only in a `cooperative` launch, all of
  /// whose threads must be resident on the multiprocessors.
  void launch(const std::string &name, KernelBody kernel, const Dimensions &grid,
              const Dimensions &block, void **arguments, uint64_t sharedBytes = 0,
              bool cooperative = false);

  /// Seed 0, the default, runs blocks, warps and threads in natural order. Any other seed
  /// randomizes each scheduling choice.
  void setSeed(uint64_t seed);
  /// Sets the number of system threads that run blocks; the default is the number of cores.
  void setThreads(int threads);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace bppsa::runtime

#endif // BPPSA_EMULATOR_EMULATOR_H
