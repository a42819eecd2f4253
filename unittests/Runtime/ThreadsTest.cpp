//===- ThreadsTest.cpp - Tests of parallel regions ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Threads/Threads.h"
#include "bppsa/Runtime/ObjectInterface.h"
#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace bppsa::runtime;

using Visits = std::vector<std::atomic<int>>;

static void visit(int64_t first, int64_t last, void *visits) {
  EXPECT_LT(first, last);
  for (int64_t i = first; i < last; ++i)
    ++(*static_cast<Visits *>(visits))[i];
}

TEST(ThreadsTest, EveryIterationOnce) {
  for (int threads : {1, 2, 3, 8}) {
    setThreads(threads);
    for (size_t trips : {0, 1, 2, 7, 8, 9, 100}) {
      Visits visits(trips);
      bppsa_rt_parallel_for(trips, visit, &visits);
      for (auto &count : visits)
        EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadsTest, NoIterationsBelowZero) {
  setThreads(2);
  Visits visits;
  bppsa_rt_parallel_for(-1, visit, &visits);
}

namespace {
struct Counts {
  std::atomic<int> outer{0}, inner{0};
};
} // namespace

static void countInner(int64_t, int64_t, void *counts) { ++static_cast<Counts *>(counts)->inner; }
static void countOuter(int64_t, int64_t, void *counts) {
  ++static_cast<Counts *>(counts)->outer;
  bppsa_rt_parallel_for(8, countInner, counts);
}

TEST(ThreadsTest, NestedLoopsRunOnOneThread) {
  setThreads(4);
  Counts counts;
  bppsa_rt_parallel_for(8, countOuter, &counts);
  EXPECT_EQ(counts.inner, counts.outer);
}

TEST(ThreadsTest, NoMoreSharesThanThreads) {
  setThreads(2);
  for (int i = 0; i < 200; ++i) {
    Counts counts;
    bppsa_rt_parallel_for(100, countInner, &counts);
    EXPECT_GE(counts.inner, 1);
    EXPECT_LE(counts.inner, 2);
  }
}

TEST(ThreadsTest, ShortLoopsRunOnOneThread) {
  setThreads(2);
  int alone = 0;
  for (int i = 0; i < 200; ++i) {
    Counts counts;
    bppsa_rt_parallel_for(100, countInner, &counts);
    alone += counts.inner == 1;
  }
  // A preempted run looks long, so the next one may use more threads.
  EXPECT_GT(alone, 100);
}

TEST(ThreadsTest, LoopsSideBySide) {
  setThreads(1);
  EXPECT_FALSE(bppsa_rt_side_by_side(2, 1));
  setThreads(2);
  for (int64_t iterations : {1, 2, 3, 8})
    EXPECT_TRUE(bppsa_rt_side_by_side(2, iterations)) << iterations;
  setThreads(4);
  EXPECT_TRUE(bppsa_rt_side_by_side(2, 1));
  EXPECT_TRUE(bppsa_rt_side_by_side(2, 2));
  // Running one after the other takes two rounds instead of three.
  EXPECT_FALSE(bppsa_rt_side_by_side(2, 3));
  EXPECT_TRUE(bppsa_rt_side_by_side(4, 3));
}

/// Waits up to a second for another thread to arrive.
static void meet(int64_t, int64_t, void *members) {
  auto &here = *static_cast<std::atomic<int> *>(members);
  ++here;
  for (int i = 0; i < 1000 && here < 2; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(ThreadsTest, WorkersComeToLongRegions) {
  setThreads(2);
  int most = 0;
  for (int i = 0; i < 20 && most < 2; ++i) {
    std::atomic<int> members{0};
    bppsa_rt_parallel_for(2, meet, &members);
    most = std::max(most, members.load());
  }
  EXPECT_EQ(most, 2);
}

/// Runs regions on another thread until the process has ended.
static void exitWithinRegions() {
  alarm(60);
  setThreads(2);
  std::atomic<bool> begun{false};
  std::thread([&begun] {
    for (std::atomic<int> members{0};; members = 0) {
      bppsa_rt_parallel_for(2, meet, &members);
      begun = true;
    }
  }).detach();
  while (!begun)
    std::this_thread::yield();
  std::exit(0);
}

TEST(ThreadsTest, ProcessEndsWhileARegionRuns) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (int i = 0; i < 5; ++i)
    EXPECT_EXIT(exitWithinRegions(), testing::ExitedWithCode(0), "");
}
