//===- BlockKernelTest.cpp - hand-written block kernels, emulated ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BlockKernel.h"

using namespace bppsa;

static const char *const sums = R"(
  func.func @kernel(%x: memref<16x32xf32>) {
    %c1 = arith.constant 1 : index
    bgpu.kernel blocks(%block in %c1) threads(512) {
      %tile = tensor.generate {
      ^bb0(%i: index, %j: index):
        %0 = memref.load %x[%i, %j] : memref<16x32xf32>
        tensor.yield %0 : f32
      } : tensor<16x32xf32>
      %total = bgpu.reduce <add> %tile : tensor<16x32xf32> -> tensor<1x32xf32>
      bgpu.for_each [1, 32] %total : tensor<1x32xf32> {
      ^bb0(%i: index, %j: index, %sum: f32):
        memref.store %sum, %x[%i, %j] : memref<16x32xf32>
      }
    }
    return
  })";

TEST(BlockKernelTest, SumsOfColumns) {
  std::vector<float> values = drawValues();
  BlockKernel kernel(sums, /*insertBarriers=*/true, /*threads=*/512);
  std::vector<float> first = kernel.runInOrders(values);
  for (int64_t column = 0; column < numColumns; ++column) {
    double sum = 0;
    for (int64_t row = 0; row < numRows; ++row)
      sum += values[row * numColumns + column];
    EXPECT_NEAR(first[column], sum, 4e-6);
  }
}

/// Twenty times, moves each row of the tile down by one, and the last row to the top.
static const char *const rotation = R"(
  #shared = #gpu.address_space<workgroup>
  func.func @kernel(%x: memref<16x32xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c20 = arith.constant 20 : index
    bgpu.kernel blocks(%block in %c1) threads(512) {
      %a = memref.alloc() : memref<17x32xf32, #shared>
      %tile = tensor.generate {
      ^bb0(%i: index, %j: index):
        %0 = memref.load %x[%i, %j] : memref<16x32xf32>
        tensor.yield %0 : f32
      } : tensor<16x32xf32>
      %last = scf.for %step = %c0 to %c20 step %c1 iter_args(%now = %tile) -> (tensor<16x32xf32>) {
        bgpu.put %now, %a[1] : tensor<16x32xf32>, memref<17x32xf32, #shared>
        %bottom = bgpu.get %a[16] : memref<17x32xf32, #shared> -> tensor<1x32xf32>
        bgpu.put %bottom, %a[0] : tensor<1x32xf32>, memref<17x32xf32, #shared>
        %next = bgpu.get %a[0] : memref<17x32xf32, #shared> -> tensor<16x32xf32>
        scf.yield %next : tensor<16x32xf32>
      }
      bgpu.for_each [16, 32] %last : tensor<16x32xf32> {
      ^bb0(%i: index, %j: index, %value: f32):
        memref.store %value, %x[%i, %j] : memref<16x32xf32>
      }
    }
    return
  })";

TEST(BlockKernelTest, LoopsOverSharedMemory) {
  std::vector<float> values = drawValues();
  BlockKernel kernel(rotation, /*insertBarriers=*/true, /*threads=*/512);
  std::vector<float> expected = values;
  std::rotate(expected.begin(), expected.end() - 20 % numRows * numColumns, expected.end());
  for (uint64_t seed : {0, 1, 2})
    EXPECT_EQ(kernel.run(values, seed), expected);
}

/// Carries a state of 31 values through 15 rows, as in a time loop. Each value is combined with its
/// right neighbour, which belongs to another thread, and with a prefetched row. The thread without
/// a value repeats the last one.
static const char *const recurrence = R"(
  func.func @kernel(%x: memref<16x32xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c15 = arith.constant 15 : index
    %c31 = arith.constant 31 : index
    %ones = arith.constant dense<1.0> : tensor<31xf32>
    bgpu.kernel blocks(%block in %c1) threads(32) {
      %last = scf.for %i = %c0 to %c15 step %c1 iter_args(%state = %ones) -> (tensor<31xf32>) {
        %row = bgpu.fetch %x[%i] stages(4) : memref<16x32xf32>
        %whole = bgpu.share %state : tensor<31xf32>
        %next = bgpu.for_each [31] -> tensor<31xf32> {
        ^bb0(%j: index):
          %right = arith.addi %j, %c1 : index
          %wraps = arith.cmpi eq, %right, %c31 : index
          %from = arith.select %wraps, %c0, %right : index
          %0 = memref.load %whole[%from] : memref<31xf32, #gpu.address_space<workgroup>>
          %1 = memref.load %row[%right] : memref<32xf32, strided<[1], offset: ?>>
          %2 = math.fma %0, %1, %1 : f32
          bgpu.yield %2 : f32
        }
        scf.yield %next : tensor<31xf32>
      }
      bgpu.for_each [31] %last : tensor<31xf32> {
      ^bb0(%j: index, %value: f32):
        memref.store %value, %x[%c15, %j] : memref<16x32xf32>
      }
    } {repeat_last}
    return
  })";

TEST(BlockKernelTest, SharesStatesAndReadsAhead) {
  std::vector<float> values = drawValues();
  BlockKernel kernel(recurrence, /*insertBarriers=*/true, /*threads=*/32);
  std::vector<float> first = kernel.runInOrders(values);
  std::vector<double> state(31, 1.0);
  for (int64_t i = 0; i < 15; ++i) {
    std::vector<double> before = state;
    for (int64_t j = 0; j < 31; ++j) {
      double value = values[i * numColumns + j + 1];
      state[j] = before[(j + 1) % 31] * value + value;
    }
  }
  for (int64_t j = 0; j < 31; ++j)
    EXPECT_NEAR(first[15 * numColumns + j], state[j], 4e-6);
  EXPECT_EQ(first[15 * numColumns + 31], values[15 * numColumns + 31]);
}

/// Carries a state of 13 values through 15 rows. Four threads share a value; each multiplies up to
/// four values of the state by a row, which is also a column of the matrix. Threads beyond the last
/// value participate in shuffles.
static const char *const sharedRows = R"(
  func.func @kernel(%x: memref<16x32xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c13 = arith.constant 13 : index
    %c15 = arith.constant 15 : index
    %zero = arith.constant 0.0 : f32
    %ones = arith.constant dense<1.0> : tensor<13xf32, #bgpu.replicated<4>>
    %half = arith.constant dense<0.5> : tensor<13xf32, #bgpu.replicated<4>>
    bgpu.kernel blocks(%block in %c1) threads(64) {
      %last = scf.for %i = %c0 to %c15 step %c1 iter_args(%state = %ones) -> (tensor<13xf32, #bgpu.replicated<4>>) {
        %row = bgpu.fetch %x[%i] stages(4) : memref<16x32xf32>
        %whole = bgpu.share %state : tensor<13xf32, #bgpu.replicated<4>>
        %parts = bgpu.for_each [13, 4] -> tensor<13x4xf32> {
        ^bb0(%j: index, %part: index):
          %sum = scf.for %k = %part to %c13 step %c4 iter_args(%running = %zero) -> (f32) {
            %at = arith.addi %j, %k : index
            %0 = memref.load %row[%at] : memref<32xf32, strided<[1], offset: ?>>
            %1 = memref.load %whole[%k] : memref<13xf32, #gpu.address_space<workgroup>>
            %2 = math.fma %0, %1, %running : f32
            scf.yield %2 : f32
          }
          bgpu.yield %sum : f32
        } {repeat_last}
        %next = bgpu.reduce_across <add> %parts : tensor<13x4xf32> -> tensor<13xf32, #bgpu.replicated<4>>
        %scaled = arith.mulf %next, %half : tensor<13xf32, #bgpu.replicated<4>>
        scf.yield %scaled : tensor<13xf32, #bgpu.replicated<4>>
      }
      bgpu.for_each [13] replicas(4) %last : tensor<13xf32, #bgpu.replicated<4>> {
      ^bb0(%j: index, %value: f32):
        memref.store %value, %x[%c15, %j] : memref<16x32xf32>
      } {repeat_last}
    } {repeat_last}
    return
  })";

TEST(BlockKernelTest, SharesRows) {
  std::vector<float> values = drawValues();
  BlockKernel kernel(sharedRows, /*insertBarriers=*/true, /*threads=*/64);
  std::vector<float> first = kernel.runInOrders(values);
  std::vector<double> state(13, 1.0);
  for (int64_t i = 0; i < 15; ++i) {
    std::vector<double> before = state;
    for (int64_t j = 0; j < 13; ++j) {
      state[j] = 0;
      for (int64_t k = 0; k < 13; ++k)
        state[j] += before[k] * values[i * numColumns + j + k];
      state[j] *= 0.5;
    }
  }
  for (int64_t j = 0; j < 13; ++j)
    EXPECT_NEAR(first[15 * numColumns + j], state[j], 4e-5);
  EXPECT_EQ(first[15 * numColumns + 13], values[15 * numColumns + 13]);
}

/// Two threads share each of 13 rows. They accumulate three or two columns of five sums of products
/// of a matrix row with its first elements, and add them to memory every four steps.
static const char *const registerSums = R"(
  func.func @kernel(%x: memref<16x32xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c10 = arith.constant 10 : index
    bgpu.kernel blocks(%block in %c1) threads(32) {
      %flat = memref.collapse_shape %x [[0, 1]] : memref<16x32xf32> into memref<512xf32>
      %ofSums = memref.subview %flat[320] [65] [1] : memref<512xf32> to memref<65xf32, strided<[1], offset: 320>>
      %matrix = memref.expand_shape %ofSums [[0, 1]] output_shape [5, 13]
          : memref<65xf32, strided<[1], offset: 320>> into memref<5x13xf32, strided<[13, 1], offset: 320>>
      %vector = memref.subview %flat[416] [13] [1] : memref<512xf32> to memref<13xf32, strided<[1], offset: 416>>
      %terms = memref.subview %x[0, 0] [10, 32] [1, 1] : memref<16x32xf32> to memref<10x32xf32, strided<[32, 1]>>
      %read, %sums, %totals = memref.distinct_objects %terms, %matrix, %vector
          : memref<10x32xf32, strided<[32, 1]>>, memref<5x13xf32, strided<[13, 1], offset: 320>>, memref<13xf32, strided<[1], offset: 416>>
      %zeros = bgpu.for_each [13, 2] -> tensor<13x2xvector<3xf32>> {
      ^bb0(%row: index, %part: index):
        %zero = arith.constant dense<0.0> : vector<3xf32>
        bgpu.yield %zero : vector<3xf32>
      } {repeat_last}
      %none = arith.constant dense<0.0> : tensor<13xf32, #bgpu.replicated<2>>
      bgpu.accumulate overwrite %zeros, %sums : tensor<13x2xvector<3xf32>>, memref<5x13xf32, strided<[13, 1], offset: 320>>
      bgpu.accumulate overwrite %none, %totals : tensor<13xf32, #bgpu.replicated<2>>, memref<13xf32, strided<[1], offset: 416>>
      %last:2 = scf.for %i = %c0 to %c10 step %c1 iter_args(%running = %zeros, %total = %none)
          -> (tensor<13x2xvector<3xf32>>, tensor<13xf32, #bgpu.replicated<2>>) {
        %own = bgpu.for_each [13] replicas(2) -> tensor<13xf32, #bgpu.replicated<2>> {
        ^bb0(%row: index):
          %0 = memref.load %read[%i, %row] : memref<10x32xf32, strided<[32, 1]>>
          bgpu.yield %0 : f32
        } {repeat_last}
        %whole = bgpu.share %own : tensor<13xf32, #bgpu.replicated<2>>
        %next = bgpu.for_each [13, 2] %running, %own : tensor<13x2xvector<3xf32>>, tensor<13xf32, #bgpu.replicated<2>>
            -> tensor<13x2xvector<3xf32>> {
        ^bb0(%row: index, %part: index, %sum: vector<3xf32>, %term: f32):
          %first = arith.muli %part, %c2 : index
          %second = arith.addi %first, %c1 : index
          %behind = arith.addi %part, %c4 : index
          %third = arith.minui %behind, %c4 : index
          %0 = memref.load %whole[%first] : memref<13xf32, #gpu.address_space<workgroup>>
          %1 = memref.load %whole[%second] : memref<13xf32, #gpu.address_space<workgroup>>
          %2 = memref.load %whole[%third] : memref<13xf32, #gpu.address_space<workgroup>>
          %factors = vector.from_elements %0, %1, %2 : vector<3xf32>
          %all = vector.broadcast %term : f32 to vector<3xf32>
          %3 = arith.mulf %all, %factors : vector<3xf32>
          %4 = arith.addf %sum, %3 : vector<3xf32>
          bgpu.yield %4 : vector<3xf32>
        } {repeat_last}
        %nextTotal = arith.addf %total, %own : tensor<13xf32, #bgpu.replicated<2>>
        %number = arith.andi %i, %c3 : index
        %isFull = arith.cmpi eq, %number, %c3 : index
        %left:2 = scf.if %isFull -> (tensor<13x2xvector<3xf32>>, tensor<13xf32, #bgpu.replicated<2>>) {
          bgpu.accumulate %next, %sums : tensor<13x2xvector<3xf32>>, memref<5x13xf32, strided<[13, 1], offset: 320>>
          bgpu.accumulate %nextTotal, %totals : tensor<13xf32, #bgpu.replicated<2>>, memref<13xf32, strided<[1], offset: 416>>
          scf.yield %zeros, %none : tensor<13x2xvector<3xf32>>, tensor<13xf32, #bgpu.replicated<2>>
        } else {
          scf.yield %next, %nextTotal : tensor<13x2xvector<3xf32>>, tensor<13xf32, #bgpu.replicated<2>>
        }
        scf.yield %left#0, %left#1 : tensor<13x2xvector<3xf32>>, tensor<13xf32, #bgpu.replicated<2>>
      }
      bgpu.accumulate %last#0, %sums : tensor<13x2xvector<3xf32>>, memref<5x13xf32, strided<[13, 1], offset: 320>>
      bgpu.accumulate %last#1, %totals : tensor<13xf32, #bgpu.replicated<2>>, memref<13xf32, strided<[1], offset: 416>>
    } {repeat_last}
    return
  })";

TEST(BlockKernelTest, AddsUpInRegisters) {
  std::vector<float> values = drawValues();
  BlockKernel kernel(registerSums, /*insertBarriers=*/true, /*threads=*/32);
  std::vector<float> first = kernel.runInOrders(values);
  for (int64_t row = 0; row < 13; ++row) {
    double total = 0;
    for (int64_t i = 0; i < 10; ++i)
      total += values[i * numColumns + row];
    EXPECT_NEAR(first[416 + row], total, 4e-6);
    for (int64_t column = 0; column < 5; ++column) {
      double sum = 0;
      for (int64_t i = 0; i < 10; ++i)
        sum += double(values[i * numColumns + row]) * values[i * numColumns + column];
      EXPECT_NEAR(first[320 + column * 13 + row], sum, 4e-6);
    }
  }
  EXPECT_EQ(first[320 + 65], values[320 + 65]);
}

/// A thread that runs first reads values that others have not written yet.
TEST(BlockKernelTest, MissingBarriersAreFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::pair<const char *, uint32_t> kernels[] = {
      {sums, 512}, {rotation, 512}, {recurrence, 32}, {sharedRows, 64}, {registerSums, 32}};
  for (auto [text, threads] : kernels) {
    BlockKernel kernel(text, /*insertBarriers=*/false, threads);
    EXPECT_EXIT(kernel.run(drawValues(), 0), testing::ExitedWithCode(1),
                "(race in|read of) shared memory at byte [0-9]+");
  }
}
