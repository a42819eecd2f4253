//===- CallMutex.h - one call of a program at a time ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CAPI_CALLMUTEX_H
#define BPPSA_LIB_CAPI_CALLMUTEX_H

#include <thread>

namespace bppsa::capi {

/// A mutex whose owner may lock it again: what training calls back may call the program, also in
/// the child of a fork.
class CallMutex {
public:
  /// Throws UsageError in the child of a fork where a thread of the parent has the mutex that the
  /// child does not have: it would never be unlocked.
  void lock();
  void unlock();

private:
  bool isAbandoned() const;

  int depth = 0;
  std::thread::id owner;
  /// How many forks this process came from when the mutex was locked.
  unsigned generation = 0;
};

} // namespace bppsa::capi

#endif // BPPSA_LIB_CAPI_CALLMUTEX_H
