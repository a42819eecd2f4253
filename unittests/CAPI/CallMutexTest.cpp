//===- CallMutexTest.cpp - serializes the calls of a program --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CallMutex.h"
#include "bppsa/Runtime/Error.h"
#include "gtest/gtest.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace bppsa::capi;
using bppsa::runtime::UsageError;

/// Returns whether `test` returns true in the child of a fork within 60 seconds.
static bool holdsInChild(const std::function<bool()> &test) {
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(test() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool canLock(CallMutex &mutex) {
  std::lock_guard lock(mutex);
  return true;
}

static bool isRefused(CallMutex &mutex) {
  try {
    mutex.lock();
  } catch (const UsageError &) {
    return true;
  }
  return false;
}

namespace {
/// A thread that holds a mutex during the lifetime of this object.
class Holder {
public:
  explicit Holder(CallMutex &mutex) : thread([this, &mutex] { hold(mutex); }) {
    while (!holds)
      std::this_thread::yield();
  }
  ~Holder() {
    ends = true;
    thread.join();
  }

private:
  void hold(CallMutex &mutex) {
    std::lock_guard lock(mutex);
    holds = true;
    while (!ends)
      std::this_thread::yield();
  }

  std::atomic<bool> holds{false}, ends{false};
  std::thread thread;
};
} // namespace

TEST(CallMutexTest, OneThreadAtATime) {
  CallMutex mutex;
  int count = 0;
  auto add = [&] {
    for (int i = 0; i < 10000; ++i) {
      std::lock_guard lock(mutex), again(mutex);
      ++count;
    }
  };
  std::thread other(add);
  add();
  other.join();
  EXPECT_EQ(count, 20000);
}

TEST(CallMutexTest, OwnerLocksAgainInTheChildOfAFork) {
  CallMutex mutex;
  std::lock_guard lock(mutex);
  EXPECT_TRUE(
      holdsInChild([&] { return canLock(mutex) && holdsInChild([&] { return canLock(mutex); }); }));
}

TEST(CallMutexTest, ThreadsOfTheChildWaitForTheThreadThatForked) {
  CallMutex mutex;
  std::unique_lock lock(mutex);
  EXPECT_TRUE(holdsInChild([&] {
    std::atomic<bool> unlocked{false};
    bool inTime = false;
    std::thread other([&] {
      std::lock_guard lock(mutex);
      inTime = unlocked;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    unlocked = true;
    lock.unlock();
    other.join();
    return inTime;
  }));
}

/// The child would wait forever for a thread that does not exist there.
TEST(CallMutexTest, RefusesToWaitForAThreadOfTheParent) {
  CallMutex mutex, other;
  Holder holder(mutex);
  EXPECT_TRUE(holdsInChild([&] {
    bool refused = isRefused(mutex) && canLock(other);
    // A new thread of the child may have the id of the missing thread.
    std::thread([&] { refused = refused && isRefused(mutex); }).join();
    return refused && holdsInChild([&] { return isRefused(mutex); });
  }));
}

/// Another thread waits for the mutex during the fork.
TEST(CallMutexTest, ChildDoesWithoutWaitingThreads) {
  CallMutex mutex;
  std::unique_lock lock(mutex);
  std::thread waiting([&] { canLock(mutex); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(holdsInChild([&] {
    lock.unlock();
    return canLock(mutex);
  }));
  lock.unlock();
  waiting.join();
}
