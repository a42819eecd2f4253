//===- EmulatorFiber.h - stacks and switches between them ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_EMULATOR_EMULATORFIBER_H
#define BPPSA_LIB_EMULATOR_EMULATORFIBER_H

#include <cstddef>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#define BPPSA_TELL_SANITIZER 1
#endif
#endif

/// Saves the registers that a call preserves, and the stack, in `*save`, and goes on where
/// `restore` was saved.
extern "C" void bppsa_emu_switch(void **save, void *restore);

namespace bppsa::runtime::emulator {

constexpr size_t kStackBytes = 256 << 10;

/// Stacks of `kStackBytes` with a page below each that cannot be touched. Of one system thread.
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

/// The stack of the system thread that fibers are resumed on.
struct SystemStack {
  const void *bottom = nullptr;
  size_t bytes = 0;
};

/// AddressSanitizer is told of every switch, before and after it: which stack comes next, and where
/// what it knows of the one that is left is kept (null: nowhere, as that ends).
inline void leaveStack([[maybe_unused]] void **kept, [[maybe_unused]] const void *bottom,
                       [[maybe_unused]] size_t bytes) {
#ifdef BPPSA_TELL_SANITIZER
  __sanitizer_start_switch_fiber(kept, bottom, bytes);
#endif
}
inline void enterStack([[maybe_unused]] void *kept, [[maybe_unused]] SystemStack *left = nullptr) {
#ifdef BPPSA_TELL_SANITIZER
  __sanitizer_finish_switch_fiber(kept, left ? &left->bottom : nullptr,
                                  left ? &left->bytes : nullptr);
#endif
}

} // namespace bppsa::runtime::emulator

#endif // BPPSA_LIB_EMULATOR_EMULATORFIBER_H
