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
/// State shared by the mutexes of all programs. One lock protects all of their members, so that a
/// fork never observes a partial update.
struct AllCalls {
  std::mutex mutex;
  std::condition_variable unlocked;
  /// The number of forks between the first process and this one, and the thread that called the
  /// last fork. Only that thread of the parent exists in this process.
  unsigned generation = 0;
  std::thread::id forker;
};
} // namespace

static AllCalls &allCalls() {
  static AllCalls *instance = new AllCalls;
  return *instance;
}

/// In the child, the condition variable may still record waiting threads of the parent, so it is
/// recreated.
static const int forkHandlers =
    pthread_atfork([] { allCalls().mutex.lock(); }, [] { allCalls().mutex.unlock(); },
                   [] {
                     AllCalls &all = allCalls();
                     all.mutex.unlock();
                     new (&all.unlocked) std::condition_variable;
                     ++all.generation;
                     all.forker = std::this_thread::get_id();
                   });

/// Returns whether the owner is a thread of a parent process. Its id may have been reused by a new
/// thread, so the generation is compared as well.
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
