//===- CallMutex.h - serializes the calls of a program ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CAPI_CALLMUTEX_H
#define BPPSA_LIB_CAPI_CALLMUTEX_H

#include <thread>

namespace bppsa::capi {

/// Recursive, because training callbacks may call the program, also in a forked child.
class CallMutex {
public:
  /// Throws UsageError in a forked child if the owner is a thread of the parent, which would never
  /// unlock it.
  void lock();
  void unlock();

private:
  bool isAbandoned() const;

  int depth = 0;
  std::thread::id owner;
  /// The number of forks before the mutex was locked.
  unsigned generation = 0;
};

} // namespace bppsa::capi

#endif // BPPSA_LIB_CAPI_CALLMUTEX_H
