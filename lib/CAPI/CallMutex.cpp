//===- CallMutex.cpp - one call of a program at a time --------------------===//
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
/// The state that the mutexes of all programs share. One lock protects the members of all of them,
/// so that a fork finds them as they are between two changes.
struct AllCalls {
  std::mutex mutex;
  std::condition_variable unlocked;
  /// How many forks this process came from, and the thread of the last one: the only thread of its
  /// parent that this process has.
  unsigned generation = 0;
  std::thread::id forker;
};
} // namespace

static AllCalls &allCalls() {
  static AllCalls *instance = new AllCalls;
  return *instance;
}

/// In the child, threads of the parent may seem to wait for the condition variable: it gets a new
/// one.
static const int forkHandlers =
    pthread_atfork([] { allCalls().mutex.lock(); }, [] { allCalls().mutex.unlock(); },
                   [] {
                     AllCalls &all = allCalls();
                     all.mutex.unlock();
                     new (&all.unlocked) std::condition_variable;
                     ++all.generation;
                     all.forker = std::this_thread::get_id();
                   });

/// Whether the owner is a thread that this process does not have. A new thread may have its number.
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
