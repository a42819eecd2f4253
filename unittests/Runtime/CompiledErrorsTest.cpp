//===- CompiledErrorsTest.cpp - Errors below compiled code ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/CompiledErrors.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Memory.h"
#include "bppsa/Runtime/ObjectInterface.h"
#include "bppsa/Runtime/Threads/Threads.h"
#include "gtest/gtest.h"

#include <atomic>
#include <string>
#include <thread>

using namespace bppsa::runtime;

extern "C" {
void *_mlir_memref_to_llvm_alloc(uint64_t size);
void _mlir_memref_to_llvm_free(void *block);
}

static std::string messageOf(const std::exception_ptr &error) {
  if (!error)
    return "";
  try {
    std::rethrow_exception(error);
  } catch (const Error &failure) {
    return failure.what();
  }
}

static void failWith(const char *message) {
  orFail([&] { fail(message); });
}

TEST(CompiledErrorsTest, NoError) {
  int calls = 0;
  EXPECT_EQ(messageOf(catchFailure([](void *calls) { ++*static_cast<int *>(calls); }, &calls)), "");
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(catchesFailures());
}

TEST(CompiledErrorsTest, LeavesTheCodeAndFreesItsMemory) {
  uint64_t before = liveBytes();
  auto body = [](void *) {
    _mlir_memref_to_llvm_free(_mlir_memref_to_llvm_alloc(100));
    _mlir_memref_to_llvm_alloc(1000);
    _mlir_memref_to_llvm_alloc(2000);
    failWith("no more");
    FAIL() << "the code goes on";
  };
  EXPECT_EQ(messageOf(catchFailure(body, nullptr)), "no more");
  EXPECT_EQ(liveBytes(), before);
  EXPECT_FALSE(catchesFailures());
}

TEST(CompiledErrorsTest, MoreMemoryThanThereIs) {
  auto body = [](void *) { _mlir_memref_to_llvm_alloc(uint64_t(1) << 61); };
  EXPECT_NE(messageOf(catchFailure(body, nullptr)).find("out of memory"), std::string::npos);
}

TEST(CompiledErrorsTest, TheInnerOfTwoCatches) {
  auto outer = [](void *) {
    void *block = _mlir_memref_to_llvm_alloc(100);
    auto inner = [](void *block) {
      _mlir_memref_to_llvm_free(block);
      failWith("inner");
    };
    EXPECT_EQ(messageOf(catchFailure(inner, block)), "inner");
    EXPECT_TRUE(catchesFailures());
    failWith("outer");
  };
  uint64_t before = liveBytes();
  EXPECT_EQ(messageOf(catchFailure(outer, nullptr)), "outer");
  EXPECT_EQ(liveBytes(), before);
}

/// Fails in iteration 7, on any thread.
static void failInSeven(int64_t first, int64_t last, void *visits) {
  for (int64_t i = first; i < last; ++i) {
    ++*static_cast<std::atomic<int> *>(visits);
    if (i == 7)
      failWith("seven");
  }
}

TEST(CompiledErrorsTest, SharesOfRegions) {
  for (int threads : {1, 2, 4}) {
    ThreadLimit limit(threads);
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> visits{0};
      auto body = [](void *visits) { bppsa_rt_parallel_for(8, failInSeven, visits); };
      EXPECT_EQ(messageOf(catchFailure(body, &visits)), "seven");
      EXPECT_GE(visits, 1);
      // The pool remains usable.
      auto count = [](int64_t first, int64_t last, void *visits) {
        *static_cast<std::atomic<int> *>(visits) += static_cast<int>(last - first);
      };
      visits = 0;
      bppsa_rt_parallel_for(100, count, &visits);
      EXPECT_EQ(visits, 100);
    }
  }
}

TEST(CompiledErrorsTest, ThreadsHaveTheirOwn) {
  auto run = [](std::string message) {
    for (int round = 0; round < 200; ++round) {
      auto body = [](void *message) { failWith(static_cast<std::string *>(message)->c_str()); };
      EXPECT_EQ(messageOf(catchFailure(body, &message)), message);
    }
  };
  std::thread one(run, "one"), other(run, "other");
  one.join();
  other.join();
}

TEST(CompiledErrorsTest, SeveralCallersOfThePool) {
  auto run = [] {
    ThreadLimit limit(2);
    auto add = [](int64_t first, int64_t last, void *sums) {
      for (int64_t i = first; i < last; ++i)
        static_cast<int64_t *>(sums)[i] += i;
    };
    std::vector<int64_t> sums(1000);
    for (int round = 0; round < 500; ++round)
      bppsa_rt_parallel_for(1000, add, sums.data());
    for (int64_t i = 0; i < 1000; ++i)
      EXPECT_EQ(sums[i], 500 * i);
  };
  std::thread one(run), other(run), third(run);
  one.join();
  other.join();
  third.join();
}

TEST(CompiledErrorsTest, LimitsOfThreads) {
  setThreads(3);
  {
    ThreadLimit limit(7);
    EXPECT_EQ(threads(), 7);
    std::thread([] { EXPECT_EQ(threads(), 3); }).join();
    ThreadLimit none(0);
    EXPECT_EQ(threads(), 3);
  }
  EXPECT_EQ(threads(), 3);
  setThreads(0);
}

TEST(CompiledErrorsTest, BorrowedMemory) {
  float values[4] = {1, 2, 3, 4};
  uint64_t before = liveBytes();
  {
    Buffer buffer = Buffer::borrow(values, sizeof values), other;
    EXPECT_EQ(buffer.floats(), values);
    other = std::move(buffer);
    EXPECT_EQ(other.size(), sizeof values);
    other = Buffer(64);
  }
  EXPECT_EQ(values[3], 4);
  EXPECT_EQ(liveBytes(), before);
}
