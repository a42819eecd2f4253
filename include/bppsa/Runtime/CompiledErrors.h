//===- CompiledErrors.h - Errors raised below compiled code -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Exceptions must not propagate through compiled functions. Caught failures leave them by longjmp
// and free their memory; others end the program.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_COMPILEDERRORS_H
#define BPPSA_RUNTIME_COMPILEDERRORS_H

#include <exception>

namespace bppsa::runtime {

/// Returns the error passed to failCompiled() during `body(context)`, or null. Frames in between
/// must not hold objects that need destruction.
std::exception_ptr catchFailure(void (*body)(void *context), void *context) noexcept;

/// While this object exists, compiled functions called on this thread throw the errors of their
/// callees.
class ScopedThrowFailures {
public:
  ScopedThrowFailures();
  ~ScopedThrowFailures();
  ScopedThrowFailures(const ScopedThrowFailures &) = delete;

private:
  bool before;
};
bool throwsFailures();

bool catchesFailures();

/// Leaves compiled code for the innermost catchFailure() of this thread, or ends the program.
[[noreturn]] void failCompiled(std::exception_ptr error) noexcept;

/// Record that compiled code has allocated a block or is about to free it.
void noteBlock(void *block);
void forgetBlock(void *block);

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
