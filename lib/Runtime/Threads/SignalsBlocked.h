//===- SignalsBlocked.h - Threads that take no signals --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_THREADS_SIGNALSBLOCKED_H
#define BPPSA_LIB_RUNTIME_THREADS_SIGNALSBLOCKED_H

#include <csignal>
#include <pthread.h>

namespace bppsa::runtime {

/// Blocks signals for this thread, and threads it starts, during its lifetime. Only the training
/// thread handles signals.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  SignalsBlocked(const SignalsBlocked &) = delete;

private:
  sigset_t before;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_THREADS_SIGNALSBLOCKED_H
