//===- WarpKernelTest.cpp - kernels of warps and of several blocks --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BlockKernel.h"

#include <numeric>

using namespace bppsa;

/// Three times, each of 4 warps sums 4 rows, with one element per lane, and adds a fraction of the
/// sum to each element of the row.
static const char *const warpSums = R"(
  #shared = #gpu.address_space<workgroup>
  func.func @kernel(%x: memref<16x32xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %part = arith.constant 0.03125 : f32
    bgpu.kernel blocks(%block in %c1) threads(128) {
      %a = memref.alloc() : memref<4x4xf32, #shared>
      %rows = memref.expand_shape %x [[0, 1], [2]] output_shape [4, 4, 32] : memref<16x32xf32> into memref<4x4x32xf32>
      %first = bgpu.for_each [4, 32] -> tensor<4x32xvector<4xf32>> {
      ^bb0(%warp: index, %lane: index):
        %0 = memref.load %rows[%warp, %c0, %lane] : memref<4x4x32xf32>
        %1 = memref.load %rows[%warp, %c1, %lane] : memref<4x4x32xf32>
        %2 = memref.load %rows[%warp, %c2, %lane] : memref<4x4x32xf32>
        %3 = memref.load %rows[%warp, %c3, %lane] : memref<4x4x32xf32>
        %4 = vector.from_elements %0, %1, %2, %3 : vector<4xf32>
        bgpu.yield %4 : vector<4xf32>
      }
      %last = scf.for %i = %c0 to %c3 step %c1 iter_args(%own = %first) -> (tensor<4x32xvector<4xf32>>) {
        %sums = bgpu.reduce_scatter <add> %own : tensor<4x32xvector<4xf32>> -> tensor<4x4xf32, #bgpu.replicated<8>>
        bgpu.put %sums, %a[0] : tensor<4x4xf32, #bgpu.replicated<8>>, memref<4x4xf32, #shared>
        %next = bgpu.for_each [4, 32] %own : tensor<4x32xvector<4xf32>> -> tensor<4x32xvector<4xf32>> {
        ^bb0(%warp: index, %lane: index, %numbers: vector<4xf32>):
          %0 = memref.load %a[%warp, %c0] : memref<4x4xf32, #shared>
          %1 = memref.load %a[%warp, %c1] : memref<4x4xf32, #shared>
          %2 = memref.load %a[%warp, %c2] : memref<4x4xf32, #shared>
          %3 = memref.load %a[%warp, %c3] : memref<4x4xf32, #shared>
          %4 = vector.from_elements %0, %1, %2, %3 : vector<4xf32>
          %5 = vector.broadcast %part : f32 to vector<4xf32>
          %6 = math.fma %4, %5, %numbers : vector<4xf32>
          bgpu.yield %6 : vector<4xf32>
        }
        scf.yield %next : tensor<4x32xvector<4xf32>>
      }
      bgpu.for_each [4, 32] %last : tensor<4x32xvector<4xf32>> {
      ^bb0(%warp: index, %lane: index, %numbers: vector<4xf32>):
        scf.for %i = %c0 to %c4 step %c1 {
          %0 = vector.extract %numbers[%i] : f32 from vector<4xf32>
          memref.store %0, %rows[%warp, %i, %lane] : memref<4x4x32xf32>
        }
      }
    }
    return
  })";

TEST(WarpKernelTest, AddsUpInWarps) {
  std::vector<float> values = drawValues();
  BlockKernel kernel(warpSums, /*insertBarriers=*/true, /*threads=*/128);
  std::vector<float> first = kernel.runInOrders(values);
  for (int64_t row = 0; row < numRows; ++row) {
    auto begin = values.begin() + row * numColumns;
    // The sum doubles each time.
    double sum = std::accumulate(begin, begin + numColumns, 0.0);
    for (int64_t column = 0; column < numColumns; ++column)
      EXPECT_NEAR(first[row * numColumns + column], begin[column] + 7 * sum / 32, 1e-5);
  }
}

/// Three times, each of four blocks passes a row to the previous block, through one of two buffers.
static const char *const exchange = R"(
  func.func @kernel(%x: memref<16x32xf32>, %counters: memref<1x32xi32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0 : i32
    %blocks = arith.constant 4 : i32
    bgpu.kernel blocks(%block in %c4) threads(32) {
      %rows = memref.expand_shape %x [[0, 1], [2]] output_shape [4, 4, 32] : memref<16x32xf32> into memref<4x4x32xf32>
      %next = arith.addi %block, %c1 : index
      %from = arith.andi %next, %c3 : index
      %first = bgpu.for_each [32] -> tensor<32xf32> {
      ^bb0(%j: index):
        %0 = memref.load %rows[%c3, %block, %j] : memref<4x4x32xf32>
        bgpu.yield %0 : f32
      }
      %last:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%row = %first, %passed = %zero) -> (tensor<32xf32>, i32) {
        %slot = arith.andi %i, %c1 : index
        bgpu.for_each [32] %row : tensor<32xf32> {
        ^bb0(%j: index, %value: f32):
          memref.store %value, %rows[%slot, %block, %j] : memref<4x4x32xf32>
        }
        %count = arith.addi %passed, %blocks : i32
        bgpu.grid_barrier %counters[%c0] until %count : memref<1x32xi32>
        %other = bgpu.for_each [32] -> tensor<32xf32> {
        ^bb0(%j: index):
          %0 = memref.load %rows[%slot, %from, %j] : memref<4x4x32xf32>
          bgpu.yield %0 : f32
        }
        scf.yield %other, %count : tensor<32xf32>, i32
      }
      bgpu.for_each [32] %last#0 : tensor<32xf32> {
      ^bb0(%j: index, %value: f32):
        memref.store %value, %rows[%c3, %block, %j] : memref<4x4x32xf32>
      }
    }
    return
  })";

TEST(WarpKernelTest, WaitsForOtherBlocks) {
  std::vector<float> values = drawValues();
  BlockKernel kernel(exchange, /*insertBarriers=*/true, /*threads=*/32);
  std::vector<float> expected(values.begin() + 12 * numColumns, values.end());
  std::rotate(expected.begin(), expected.begin() + 3 * numColumns, expected.end());
  for (uint64_t seed : {0, 1, 2, 3}) {
    std::vector<float> found = kernel.run(values, seed, /*grid=*/4);
    EXPECT_EQ(std::vector<float>(found.begin() + 12 * numColumns, found.end()), expected);
  }
}

/// A lane that runs first reads values that others of its warp have not written yet.
TEST(WarpKernelTest, MissingBarriersAreFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  BlockKernel kernel(warpSums, /*insertBarriers=*/false, /*threads=*/128);
  EXPECT_EXIT(kernel.run(drawValues(), 0), testing::ExitedWithCode(1),
              "(race in|read of) shared memory at byte [0-9]+");
}
