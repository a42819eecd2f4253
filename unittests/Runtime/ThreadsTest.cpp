//===- ThreadsTest.cpp - parallel regions as compiled code opens them -----===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Threads.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

using namespace bppsa::runtime;

extern "C" {
void __kmpc_fork_call(void *, int32_t, void *, ...);
void __kmpc_barrier(void *, int32_t);
void __kmpc_push_num_threads(void *, int32_t, int32_t);
void __kmpc_for_static_init_4(void *, int32_t, int32_t, int32_t *, int32_t *, int32_t *, int32_t *,
                              int32_t, int32_t);
void __kmpc_for_static_init_8u(void *, int32_t, int32_t, int32_t *, uint64_t *, uint64_t *,
                               int64_t *, int64_t, int64_t);
}

template <typename... Args>
static void fork(void (*task)(int32_t *, int32_t *, Args *...), Args *...args) {
  __kmpc_fork_call(nullptr, sizeof...(Args), reinterpret_cast<void *>(task), args...);
}

namespace {
struct Visits {
  std::vector<std::atomic<int>> count;
  uint64_t trips;
  std::atomic<int> lasts{0};
  explicit Visits(size_t size) : count(size), trips(size) {}
};
} // namespace

static void visit(int32_t *thread, int32_t *, Visits *visits) {
  int32_t last = 0;
  uint64_t lower = 0, upper = visits->trips - 1;
  int64_t stride = 1;
  __kmpc_for_static_init_8u(nullptr, *thread, 34, &last, &lower, &upper, &stride, 1, 0);
  for (uint64_t i = lower, left = upper - lower + 1; left > 0; ++i, --left)
    ++visits->count[i];
  visits->lasts += last != 0;
}

static void visitChunks(int32_t *thread, int32_t *, Visits *visits) {
  int32_t last = 0, lower = 0, upper = static_cast<int32_t>(visits->trips) - 1, end = upper;
  int32_t stride = 1;
  __kmpc_for_static_init_4(nullptr, *thread, 33, &last, &lower, &upper, &stride, 1, 3);
  for (; lower <= end; lower += stride, upper += stride)
    for (int32_t i = lower; i <= std::min(upper, end); ++i)
      ++visits->count[i];
}

TEST(ThreadsTest, EveryIterationOnce) {
  for (int threads : {1, 2, 3, 8}) {
    setThreads(threads);
    for (auto task : {visit, visitChunks})
      for (size_t trips : {0, 1, 2, 7, 8, 9, 100}) {
        if (trips == 0 && task == visitChunks)
          continue;
        Visits visits(trips);
        fork(task, &visits);
        for (auto &count : visits.count)
          EXPECT_EQ(count, 1);
        if (task == visit && trips > 0)
          EXPECT_EQ(visits.lasts, 1);
      }
  }
}

static void enterBarriers(int32_t *, int32_t *, std::atomic<int> *arrived,
                          std::atomic<int> *wrong) {
  ++*arrived;
  __kmpc_barrier(nullptr, 0);
  int members = *arrived;
  __kmpc_barrier(nullptr, 0);
  for (int round = 2; round <= 50; ++round) {
    ++*arrived;
    __kmpc_barrier(nullptr, 0);
    *wrong += *arrived != round * members;
    __kmpc_barrier(nullptr, 0);
  }
}

TEST(ThreadsTest, BarriersHoldEveryone) {
  for (int size : {1, 2, 4}) {
    setThreads(size);
    std::atomic<int> arrived{0}, wrong{0};
    fork(enterBarriers, &arrived, &wrong);
    EXPECT_EQ(wrong, 0);
    EXPECT_LE(arrived, 50 * size);
  }
}

static void count(int32_t *, int32_t *, std::atomic<int> *members) { ++*members; }
static void forkAgain(int32_t *, int32_t *, std::atomic<int> *outer, std::atomic<int> *inner) {
  ++*outer;
  fork(count, inner);
}

TEST(ThreadsTest, NestedRegionsRunOnOneThread) {
  setThreads(4);
  std::atomic<int> outer{0}, inner{0};
  fork(forkAgain, &outer, &inner);
  EXPECT_EQ(inner, outer);
}

TEST(ThreadsTest, NoMoreThreadsThanAskedFor) {
  setThreads(4);
  for (int i = 0; i < 200; ++i) {
    std::atomic<int> members{0};
    __kmpc_push_num_threads(nullptr, 0, 2);
    fork(count, &members);
    EXPECT_GE(members, 1);
    EXPECT_LE(members, 2);
  }
}

/// Holds its thread until another one has come, or for a second.
static void meet(int32_t *, int32_t *, std::atomic<int> *members) {
  ++*members;
  for (int i = 0; i < 1000 && *members < 2; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(ThreadsTest, WorkersComeToLongRegions) {
  setThreads(2);
  int most = 0;
  for (int i = 0; i < 20 && most < 2; ++i) {
    std::atomic<int> members{0};
    fork(meet, &members);
    most = std::max(most, members.load());
  }
  EXPECT_EQ(most, 2);
}
