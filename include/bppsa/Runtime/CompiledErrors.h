//===- CompiledErrors.h - Errors raised below compiled code -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Exceptions must not propagate through compiled functions. If a caller catches failures, the
// functions are left by longjmp and the memory they allocated is freed. Otherwise, an error ends
// the program.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_COMPILEDERRORS_H
#define BPPSA_RUNTIME_COMPILEDERRORS_H

#include <exception>

namespace bppsa::runtime {

/// Runs `body(context)`, which calls compiled code. Returns the error passed to failCompiled()
/// meanwhile, or null. Frames between `body` and failCompiled() must not hold objects that need
/// destruction.
std::exception_ptr catchFailure(void (*body)(void *context), void *context) noexcept;

/// While this object exists, calls of compiled functions (Call.h) on this thread throw the errors
/// of their callees.
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

/// Leaves compiled code for the innermost catchFailure() of this thread. Ends the program if there
/// is none.
[[noreturn]] void failCompiled(std::exception_ptr error) noexcept;

/// Record that compiled code has allocated a block or is about to free it.
void noteBlock(void *block);
void forgetBlock(void *block);

/// Runs `action` for compiled code, passing its exceptions to failCompiled().
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
