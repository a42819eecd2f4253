//===- CompiledErrors.h - errors below compiled code ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// No exception may pass through compiled functions, which have nothing to unwind but the memory
// that they have taken. Where a caller catches failures, the functions are left at once and that
// memory is freed; elsewhere an error ends the program.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_COMPILEDERRORS_H
#define BPPSA_RUNTIME_COMPILEDERRORS_H

#include <exception>

namespace bppsa::runtime {

/// Runs `body(context)`, which calls compiled code, and gives the error of the function of this
/// library that it has been left for; null where there was none. Frames between `body` and that
/// function hold nothing that has to be destroyed.
std::exception_ptr catchFailure(void (*body)(void *context), void *context) noexcept;

/// While this lives, calls of compiled functions (Call.h) of this thread throw such errors.
class FailuresThrown {
public:
  FailuresThrown();
  ~FailuresThrown();
  FailuresThrown(const FailuresThrown &) = delete;

private:
  bool before;
};
bool throwsFailures();

/// Whether the calling thread is in catchFailure().
bool catchesFailures();

/// Leaves compiled code for the last catchFailure() of this thread, or ends the program.
[[noreturn]] void failCompiled(std::exception_ptr error) noexcept;

/// Compiled code has taken or is about to free a block of memory.
void noteBlock(void *block);
void forgetBlock(void *block);

/// Runs `action` for compiled code.
template <typename Action> auto orFail(Action &&action) noexcept {
  std::exception_ptr error;
  try {
    return action();
  } catch (...) {
    error = std::current_exception();
  }
  failCompiled(std::move(error));
}

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_COMPILEDERRORS_H
