//===- EmulatorFiber.h - stacks of fibers and their switches ----*- C++ -*-===//
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

/// Saves callee-saved registers and stack pointer in `*save` and resumes `restore`.
extern "C" void bppsa_emu_switch(void **save, void *restore);

namespace bppsa::runtime::emulator {

constexpr size_t kStackBytes = 256 << 10;

/// Stacks with guard pages, for one system thread.
class StackPool {
public:
  StackPool() = default;
  StackPool(const StackPool &) = delete;
  ~StackPool();
  /// Returns the lowest address. Throws std::bad_alloc.
  char *take();
  void give(char *stack) { unused.push_back(stack); }

private:
  std::vector<char *> unused;
};

/// Returns a context that runs `entry`, which must never return.
void *prepareStack(char *stack, void (*entry)());

struct SystemStack {
  const void *bottom = nullptr;
  size_t bytes = 0;
};

/// Notify AddressSanitizer around switches to the stack at `bottom`. `kept` holds the sanitizer's
/// state of the current stack; null if the fiber ends.
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
