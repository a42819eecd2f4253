//===- CallMutex.cpp - serializes the calls of a program ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CallMutex.h"
#include "bppsa/Runtime/Error.h"

#include <condition_variable>
#include <mutex>
#include <new>
#include <pthread.h>

using namespace bppsa::capi;
using namespace bppsa::runtime;

namespace {
/// One lock protects all mutexes, so that a fork never observes a partial update.
struct AllCalls {
  std::mutex mutex;
  std::condition_variable unlocked;
  /// The number of forks before this process, and the thread that called the last one. Only that
  /// thread survives in the child.
  unsigned generation = 0;
  std::thread::id forker;
};
} // namespace

static AllCalls &allCalls() {
  static AllCalls *instance = new AllCalls;
  return *instance;
}

/// In the child, the condition variable may still record threads of the parent.
static const int forkHandlers =
    pthread_atfork([] { allCalls().mutex.lock(); }, [] { allCalls().mutex.unlock(); },
                   [] {
                     AllCalls &all = allCalls();
                     all.mutex.unlock();
                     new (&all.unlocked) std::condition_variable;
                     ++all.generation;
                     all.forker = std::this_thread::get_id();
                   });

/// Ids may be reused by new threads, so compare generations too.
bool CallMutex::isAbandoned() const {
  return depth > 0 && generation != allCalls().generation && owner != allCalls().forker;
}

void CallMutex::lock() {
  AllCalls &all = allCalls();
  std::unique_lock<std::mutex> lock(all.mutex);
  if (isAbandoned())
    throw UsageError("another thread was using the program when this process was forked; compile "
                     "or load it again in this process");
  if (depth == 0 || owner != std::this_thread::get_id())
    all.unlocked.wait(lock, [this] { return depth == 0; });
  ++depth;
  owner = std::this_thread::get_id();
  generation = all.generation;
}

void CallMutex::unlock() {
  AllCalls &all = allCalls();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (--depth == 0)
    all.unlocked.notify_all();
}
