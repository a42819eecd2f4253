//===- BlockProductTest.cpp - hand-written tile products, emulated --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BlockKernel.h"

using namespace bppsa;

/// Two warps multiply two 16 x 16 matrices in shared memory, in depth slices of 8. Each warp
/// computes 8 columns of the result, which replaces the second factor.
static const char *const tileProduct = R"(
  #shared = #gpu.address_space<workgroup>
  !fragments = tensor<2x32xvector<4xf32>>
  func.func @kernel(%x: memref<16x32xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    bgpu.kernel blocks(%block in %c1) threads(64) {
      %factors = memref.alloc() : memref<16x32xf32, #shared>
      bgpu.for_each [16, 4] {
      ^bb0(%i: index, %part: index):
        scf.for %j = %part to %c32 step %c4 {
          %0 = memref.load %x[%i, %j] : memref<16x32xf32>
          memref.store %0, %factors[%i, %j] : memref<16x32xf32, #shared>
        }
      }
      %zeros = bgpu.for_each [2, 32] -> !fragments {
      ^bb0(%warp: index, %lane: index):
        %zero = arith.constant dense<0.0> : vector<4xf32>
        bgpu.yield %zero : vector<4xf32>
      }
      %sums = scf.for %depth = %c0 to %c16 step %c8 iter_args(%running = %zeros) -> (!fragments) {
        %a, %b = bgpu.for_each [2, 32] -> !fragments, tensor<2x32xvector<2xf32>> {
        ^bb0(%warp: index, %lane: index):
          %g = arith.divui %lane, %c4 : index
          %t = arith.remui %lane, %c4 : index
          %below = arith.addi %g, %c8 : index
          %near = arith.addi %depth, %t : index
          %far = arith.addi %near, %c4 : index
          %0 = memref.load %factors[%g, %near] : memref<16x32xf32, #shared>
          %1 = memref.load %factors[%below, %near] : memref<16x32xf32, #shared>
          %2 = memref.load %factors[%g, %far] : memref<16x32xf32, #shared>
          %3 = memref.load %factors[%below, %far] : memref<16x32xf32, #shared>
          %ofA = vector.from_elements %0, %1, %2, %3 : vector<4xf32>
          %ofWarp = arith.muli %warp, %c8 : index
          %inResult = arith.addi %ofWarp, %g : index
          %column = arith.addi %inResult, %c16 : index
          %4 = memref.load %factors[%near, %column] : memref<16x32xf32, #shared>
          %5 = memref.load %factors[%far, %column] : memref<16x32xf32, #shared>
          %ofB = vector.from_elements %4, %5 : vector<2xf32>
          bgpu.yield %ofA, %ofB : vector<4xf32>, vector<2xf32>
        }
        %next = bgpu.mma %a, %b, %running precision(fp32) : !fragments, tensor<2x32xvector<2xf32>>, !fragments
        scf.yield %next : !fragments
      }
      bgpu.for_each [2, 32] %sums : !fragments {
      ^bb0(%warp: index, %lane: index, %own: vector<4xf32>):
        %g = arith.divui %lane, %c4 : index
        %t = arith.remui %lane, %c4 : index
        %below = arith.addi %g, %c8 : index
        %ofWarp = arith.muli %warp, %c8 : index
        %pair = arith.muli %t, %c2 : index
        %inResult = arith.addi %ofWarp, %pair : index
        %first = arith.addi %inResult, %c16 : index
        %second = arith.addi %first, %c1 : index
        %0:4 = vector.to_elements %own : vector<4xf32>
        memref.store %0#0, %x[%g, %first] : memref<16x32xf32>
        memref.store %0#1, %x[%g, %second] : memref<16x32xf32>
        memref.store %0#2, %x[%below, %first] : memref<16x32xf32>
        memref.store %0#3, %x[%below, %second] : memref<16x32xf32>
      }
    }
    return
  })";

/// Checks the product against loops, with an error of at most `error` for each of the 16 terms.
static void checkProduct(const std::string &text, double error) {
  std::vector<float> values = drawValues();
  BlockKernel kernel(text, /*insertBarriers=*/true, /*threads=*/64);
  std::vector<float> first = kernel.runInOrders(values);
  for (int64_t row = 0; row < 16; ++row) {
    EXPECT_EQ(first[row * numColumns + 15], values[row * numColumns + 15]);
    for (int64_t column = 16; column < 32; ++column) {
      double sum = 0;
      for (int64_t i = 0; i < 16; ++i)
        sum += double(values[row * numColumns + i]) * values[i * numColumns + column];
      EXPECT_NEAR(first[row * numColumns + column], sum, 16 * error);
    }
  }
}

TEST(BlockProductTest, MultipliesTiles) { checkProduct(tileProduct, 1e-6); }

TEST(BlockProductTest, MultipliesTilesOfTF32) {
  std::string text = tileProduct;
  text.replace(text.find("fp32"), 4, "tf32");
  checkProduct(text, 1e-3);
}

TEST(BlockProductTest, MissingBarriersAreFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  BlockKernel kernel(tileProduct, /*insertBarriers=*/false, /*threads=*/64);
  EXPECT_EXIT(kernel.run(drawValues(), 0), testing::ExitedWithCode(1),
              "(race in|read of) shared memory at byte [0-9]+");
}
