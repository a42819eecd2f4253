//===- EmulatorFiber.h - stacks and switches between them ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_EMULATOR_EMULATORFIBER_H
#define BPPSA_LIB_EMULATOR_EMULATORFIBER_H

#include <cstddef>
#include <vector>

/// Saves the registers that a call preserves, and the stack, in `*save`, and goes on where
/// `restore` was saved.
extern "C" void bppsa_emu_switch(void **save, void *restore);

namespace bppsa::runtime::emulator {

constexpr size_t stackBytes = 256 << 10;

/// Stacks of `stackBytes` with a page below each that cannot be touched. Of one system thread.
class StackPool {
public:
  StackPool() = default;
  StackPool(const StackPool &) = delete;
  ~StackPool();
  /// The lowest address of a stack; throws std::bad_alloc where memory does not suffice for one
  /// more.
  char *take();
  void give(char *stack) { unused.push_back(stack); }

private:
  std::vector<char *> unused;
};

/// What to switch to so that `entry` runs on `stack`. It must never return.
void *prepareStack(char *stack, void (*entry)());

} // namespace bppsa::runtime::emulator

#endif // BPPSA_LIB_EMULATOR_EMULATORFIBER_H
