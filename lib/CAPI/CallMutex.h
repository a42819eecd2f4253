//===- CallMutex.h - serializes the calls of a program ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CAPI_CALLMUTEX_H
#define BPPSA_LIB_CAPI_CALLMUTEX_H

#include <thread>

namespace bppsa::capi {

/// A recursive mutex: callbacks of training may call the program, also in the child of a fork.
class CallMutex {
public:
  /// Throws UsageError in the child of a fork if the owner is a thread of the parent, because the
  /// mutex would never be unlocked.
  void lock();
  void unlock();

private:
  bool isAbandoned() const;

  int depth = 0;
  std::thread::id owner;
  /// The number of forks before this process when the mutex was locked.
  unsigned generation = 0;
};

} // namespace bppsa::capi

#endif // BPPSA_LIB_CAPI_CALLMUTEX_H
