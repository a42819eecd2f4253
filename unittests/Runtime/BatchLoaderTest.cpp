//===- BatchLoaderTest.cpp - Tests of the prefetching loader --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Files/BatchLoader.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/ObjectInterface.h"
#include "bppsa/Runtime/Threads/Threads.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace bppsa::runtime;

namespace {
/// A data set for the fake model that is not kept in memory. The class of a sample is its index
/// modulo 4.
class BatchLoaderTest : public testing::Test {
protected:
  static constexpr int64_t steps = 2, count = 400;

  BatchLoaderTest() : x(steps * count * 3, 1.0f), target(count), order(count) {
    for (int64_t i = 0; i < count; ++i)
      target[i] = i % 4;
    std::iota(order.begin(), order.end(), 0);
    setThreads(2);
  }

  Dataset makeSet() {
    ArrayArguments arrays = {{"x", x.data(), DType::F32, {steps, count, 3}, {}},
                             {"target", target.data(), DType::I64, {count}, {}}};
    return Dataset(arrays, model, TargetUse::Needed, /*memory=*/1);
  }

  const Model model = parseModel(bppsa_model_json, bppsa_model_onnx_size);
  std::vector<float> x;
  std::vector<int64_t> target, order;
};
} // namespace

TEST_F(BatchLoaderTest, GivesAllSamplesInOrder) {
  Dataset data = makeSet();
  ASSERT_FALSE(data.isInMemory());
  BatchLoader loader(data, order, 0, 8,
                     [](int64_t at) { return std::min<int64_t>(8, count - at); });
  Batch batch = data.newBatch(8);
  for (int64_t at = 0; at < count; at += 8) {
    loader.next(batch);
    ASSERT_EQ(batch.samples, 8);
    for (int64_t i = 0; i < 8; ++i)
      ASSERT_EQ(batch.losses[0].target.as<int64_t>()[i], (at + i) % 4);
  }
}

TEST_F(BatchLoaderTest, MayBeDestroyedAtAnyTime) {
  Dataset data = makeSet();
  Batch batch = data.newBatch(1);
  for (int taken = 0; taken < 200; ++taken) {
    BatchLoader loader(data, order, 0, 1, [](int64_t at) { return at < count; });
    for (int i = 0; i < taken; ++i)
      loader.next(batch);
  }
}

/// An exception that escapes a thread's function would end the process.
TEST_F(BatchLoaderTest, ThrowsWhatIsThrownOnTheThread) {
  Dataset data = makeSet();
  BatchLoader loader(data, order, 0, 1, [](int64_t at) -> int64_t {
    if (at == 3)
      throw Error("no size");
    return 1;
  });
  Batch batch = data.newBatch(1);
  for (int i = 0; i < 3; ++i)
    EXPECT_NO_THROW(loader.next(batch));
  for (int i = 0; i < 2; ++i)
    EXPECT_THROW(loader.next(batch), Error);
}

TEST_F(BatchLoaderTest, HasNoSamplesAfterTheLast) {
  Dataset data = makeSet();
  BatchLoader loader(data, order, 0, 1, [](int64_t at) { return at < 2; });
  Batch batch = data.newBatch(1);
  for (int i = 0; i < 2; ++i)
    EXPECT_NO_THROW(loader.next(batch));
  for (int i = 0; i < 2; ++i)
    EXPECT_THROW(loader.next(batch), Error);
}
