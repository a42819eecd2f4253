//===- Emulator.h - GPU kernels on the CPU -----------------------------*- C++ -*-===//
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

/// The body of one CUDA thread, see EmulatorInterface.h.
using KernelBody = void (*)(void **arguments);

/// A GPU on the CPU: its memory, and launches that run each CUDA thread as a fiber. What a GPU
/// leaves undefined ends the program with exit status 1 and one line on stderr:
///   error: kernel 'NAME', block (x, y, z), thread (x, y, z): what; SITE
/// Results depend on the seed alone, not on how many threads of the system take part.
class Emulator {
public:
  Emulator();
  ~Emulator();
  Emulator(const Emulator &) = delete;

  /// A small GPU; each multiprocessor holds so many threads.
  static constexpr int64_t multiprocessors = 16, residentThreads = 2048;

  /// Device memory, aligned to 256 bytes and filled with 0xAB; std::bad_alloc: there is none left.
  void *allocate(uint64_t bytes);
  void release(void *memory);

  /// Runs every block of the grid; `sharedBytes` come on top of the kernel's static arrays. Only in
  /// a `cooperative` launch, which the multiprocessors have to hold as a whole, blocks may wait for
  /// each other.
  void launch(const std::string &name, KernelBody kernel, const Dimensions &grid,
              const Dimensions &block, void **arguments, uint64_t sharedBytes = 0,
              bool cooperative = false);

  /// 0, the default, runs blocks, warps and threads in their natural order; any other seed draws
  /// the next of them at random wherever there is a choice.
  void setSeed(uint64_t seed);
  /// How many threads of the system run blocks; by default as many as there are cores.
  void setThreads(int threads);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace bppsa::runtime

#endif // BPPSA_EMULATOR_EMULATOR_H
