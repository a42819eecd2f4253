//===- EmulatorMmaTest.cpp - fragments of matrix products -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "EmulatedKernels.h"
#include "bppsa/Runtime/Training/Random.h"
#include "gtest/gtest.h"

#include <array>
#include <cmath>
#include <cstring>
#include <sstream>
#include <string>

using namespace bppsa::runtime;

// Figures of the PTX ISA, "Matrix Fragments for mma.m16n8k8", .tf32: the lane and register that
// hold each element of a matrix.
static const char *const fragmentA[16] = {
    "0.a0 1.a0 2.a0 3.a0 0.a2 1.a2 2.a2 3.a2",
    "4.a0 5.a0 6.a0 7.a0 4.a2 5.a2 6.a2 7.a2",
    "8.a0 9.a0 10.a0 11.a0 8.a2 9.a2 10.a2 11.a2",
    "12.a0 13.a0 14.a0 15.a0 12.a2 13.a2 14.a2 15.a2",
    "16.a0 17.a0 18.a0 19.a0 16.a2 17.a2 18.a2 19.a2",
    "20.a0 21.a0 22.a0 23.a0 20.a2 21.a2 22.a2 23.a2",
    "24.a0 25.a0 26.a0 27.a0 24.a2 25.a2 26.a2 27.a2",
    "28.a0 29.a0 30.a0 31.a0 28.a2 29.a2 30.a2 31.a2",
    "0.a1 1.a1 2.a1 3.a1 0.a3 1.a3 2.a3 3.a3",
    "4.a1 5.a1 6.a1 7.a1 4.a3 5.a3 6.a3 7.a3",
    "8.a1 9.a1 10.a1 11.a1 8.a3 9.a3 10.a3 11.a3",
    "12.a1 13.a1 14.a1 15.a1 12.a3 13.a3 14.a3 15.a3",
    "16.a1 17.a1 18.a1 19.a1 16.a3 17.a3 18.a3 19.a3",
    "20.a1 21.a1 22.a1 23.a1 20.a3 21.a3 22.a3 23.a3",
    "24.a1 25.a1 26.a1 27.a1 24.a3 25.a3 26.a3 27.a3",
    "28.a1 29.a1 30.a1 31.a1 28.a3 29.a3 30.a3 31.a3",
};
static const char *const fragmentB[8] = {
    "0.b0 4.b0 8.b0 12.b0 16.b0 20.b0 24.b0 28.b0",
    "1.b0 5.b0 9.b0 13.b0 17.b0 21.b0 25.b0 29.b0",
    "2.b0 6.b0 10.b0 14.b0 18.b0 22.b0 26.b0 30.b0",
    "3.b0 7.b0 11.b0 15.b0 19.b0 23.b0 27.b0 31.b0",
    "0.b1 4.b1 8.b1 12.b1 16.b1 20.b1 24.b1 28.b1",
    "1.b1 5.b1 9.b1 13.b1 17.b1 21.b1 25.b1 29.b1",
    "2.b1 6.b1 10.b1 14.b1 18.b1 22.b1 26.b1 30.b1",
    "3.b1 7.b1 11.b1 15.b1 19.b1 23.b1 27.b1 31.b1",
};
static const char *const fragmentC[16] = {
    "0.c0 0.c1 1.c0 1.c1 2.c0 2.c1 3.c0 3.c1",
    "4.c0 4.c1 5.c0 5.c1 6.c0 6.c1 7.c0 7.c1",
    "8.c0 8.c1 9.c0 9.c1 10.c0 10.c1 11.c0 11.c1",
    "12.c0 12.c1 13.c0 13.c1 14.c0 14.c1 15.c0 15.c1",
    "16.c0 16.c1 17.c0 17.c1 18.c0 18.c1 19.c0 19.c1",
    "20.c0 20.c1 21.c0 21.c1 22.c0 22.c1 23.c0 23.c1",
    "24.c0 24.c1 25.c0 25.c1 26.c0 26.c1 27.c0 27.c1",
    "28.c0 28.c1 29.c0 29.c1 30.c0 30.c1 31.c0 31.c1",
    "0.c2 0.c3 1.c2 1.c3 2.c2 2.c3 3.c2 3.c3",
    "4.c2 4.c3 5.c2 5.c3 6.c2 6.c3 7.c2 7.c3",
    "8.c2 8.c3 9.c2 9.c3 10.c2 10.c3 11.c2 11.c3",
    "12.c2 12.c3 13.c2 13.c3 14.c2 14.c3 15.c2 15.c3",
    "16.c2 16.c3 17.c2 17.c3 18.c2 18.c3 19.c2 19.c3",
    "20.c2 20.c3 21.c2 21.c3 22.c2 22.c3 23.c2 23.c3",
    "24.c2 24.c3 25.c2 25.c3 26.c2 26.c3 27.c2 27.c3",
    "28.c2 28.c3 29.c2 29.c3 30.c2 30.c3 31.c2 31.c3",
};

namespace {
/// The registers of all lanes.
template <int registers> using Fragments = std::array<std::array<float, registers>, 32>;

struct Problem {
  float a[16][8] = {}, b[8][8] = {}, c[16][8] = {};
};
} // namespace

/// Calls `visit(row, column, lane, register)` for each element of the figure.
template <int rows, typename Visit>
static void readFigure(const char *const (&figure)[rows], Visit visit, int columns = 8) {
  for (int row = 0; row < rows; ++row) {
    std::istringstream cells(figure[row]);
    for (int column = 0; column < columns; ++column) {
      int lane = -1, index = -1;
      char dot, name;
      cells >> lane >> dot >> name >> index;
      ASSERT_TRUE(cells) << figure[row];
      visit(row, column, lane, index);
    }
  }
}

static void multiply(void **arguments) {
  uint32_t lane = bppsa_emu_laneid();
  auto *a = argument<float *>(arguments, 0) + 4 * lane;
  auto *b = argument<float *>(arguments, 1) + 2 * lane;
  auto *c = argument<float *>(arguments, 2) + 4 * lane;
  auto *d = argument<float *>(arguments, 3) + 4 * lane;
  uint32_t bitsA[4], bitsB[2];
  memcpy(bitsA, a, sizeof bitsA);
  memcpy(bitsB, b, sizeof bitsB);
  bppsa_emu_mma_m16n8k8_tf32(bitsA, bitsB, c, d, "mma");
}

static std::array<std::array<float, 8>, 16> run(const Problem &problem) {
  Fragments<4> a, c, d;
  Fragments<2> b;
  readFigure(fragmentA, [&](int i, int k, int lane, int r) { a[lane][r] = problem.a[i][k]; });
  readFigure(fragmentB, [&](int k, int j, int lane, int r) { b[lane][r] = problem.b[k][j]; });
  readFigure(fragmentC, [&](int i, int j, int lane, int r) { c[lane][r] = problem.c[i][j]; });
  float *pointers[] = {a[0].data(), b[0].data(), c[0].data(), d[0].data()};
  void *arguments[] = {&pointers[0], &pointers[1], &pointers[2], &pointers[3]};
  Emulator().launch("mma", multiply, {1}, {32}, arguments);
  std::array<std::array<float, 8>, 16> out;
  readFigure(fragmentC, [&](int i, int j, int lane, int r) { out[i][j] = d[lane][r]; });
  return out;
}

static double exactProduct(const Problem &problem, int i, int j) {
  double sum = problem.c[i][j];
  for (int k = 0; k < 8; ++k)
    sum += double(problem.a[i][k]) * problem.b[k][j];
  return sum;
}

static void checkExact(const Problem &problem) {
  auto out = run(problem);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j)
      ASSERT_EQ(out[i][j], exactProduct(problem, i, j)) << "row " << i << " column " << j;
}

TEST(EmulatorMmaTest, EveryElementIsInItsPlace) {
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 8; ++k) {
      Problem problem;
      problem.a[i][k] = 1;
      for (int n = 0; n < 64; ++n)
        problem.b[n / 8][n % 8] = static_cast<float>(n + 1);
      for (int n = 0; n < 128; ++n)
        problem.c[n / 8][n % 8] = static_cast<float>(1000 + n);
      checkExact(problem);
    }
  for (int k = 0; k < 8; ++k)
    for (int j = 0; j < 8; ++j) {
      Problem problem;
      problem.b[k][j] = 1;
      for (int n = 0; n < 128; ++n)
        problem.a[n / 8][n % 8] = static_cast<float>(n + 1);
      checkExact(problem);
    }
}

TEST(EmulatorMmaTest, MultipliesMatricesOfNumbersThatFit) {
  Random random(1);
  Problem problem;
  // Integers of eleven bits, the precision of tf32.
  auto draw = [&] { return static_cast<float>(random.below(2047)) - 1023; };
  for (int n = 0; n < 128; ++n)
    problem.a[n / 8][n % 8] = draw();
  for (int n = 0; n < 64; ++n)
    problem.b[n / 8][n % 8] = draw();
  checkExact(problem);
}

TEST(EmulatorMmaTest, CutsInputsToTf32) {
  Problem problem;
  problem.a[3][0] = 1.0f + 0x1p-10f + 0x1p-11f + 0x1p-23f;
  problem.b[0][5] = -1.0f - 0x1p-11f;
  problem.c[3][5] = 0x1p-20f;
  EXPECT_EQ(run(problem)[3][5], -1.0f - 0x1p-10f + 0x1p-20f);
}

// PTX ISA, "cvt": .rna rounds to nearest, ties away from zero; NaN becomes canonical.
TEST(EmulatorMmaTest, RoundsToTf32) {
  auto round = [](float value) {
    uint32_t bits = bppsa_emu_tf32(value);
    float rounded;
    memcpy(&rounded, &bits, sizeof rounded);
    return rounded;
  };
  EXPECT_EQ(round(1.0f + 0x1p-10f), 1.0f + 0x1p-10f);
  EXPECT_EQ(round(-1.0f - 0x1p-11f), -1.0f - 0x1p-10f);
  EXPECT_EQ(round(1.0f + 0x1p-11f - 0x1p-23f), 1.0f);
  EXPECT_EQ(round(2.0f - 0x1p-23f), 2.0f);
  EXPECT_EQ(round(INFINITY), INFINITY);
  EXPECT_EQ(bppsa_emu_tf32(NAN), 0x7fffffffu);
}

// Figures of "Matrix Fragments for mma.m16n8k16 with floating point type", .bf16; C is as above.
// Elements 2i and 2i+1 of a lane are the lower and the upper half of register i.
static const char *const fragmentOf16A[16] = {
    "0.a0 0.a1 1.a0 1.a1 2.a0 2.a1 3.a0 3.a1 0.a4 0.a5 1.a4 1.a5 2.a4 2.a5 3.a4 3.a5",
    "4.a0 4.a1 5.a0 5.a1 6.a0 6.a1 7.a0 7.a1 4.a4 4.a5 5.a4 5.a5 6.a4 6.a5 7.a4 7.a5",
    "8.a0 8.a1 9.a0 9.a1 10.a0 10.a1 11.a0 11.a1 8.a4 8.a5 9.a4 9.a5 10.a4 10.a5 11.a4 11.a5",
    "12.a0 12.a1 13.a0 13.a1 14.a0 14.a1 15.a0 15.a1 "
    "12.a4 12.a5 13.a4 13.a5 14.a4 14.a5 15.a4 15.a5",
    "16.a0 16.a1 17.a0 17.a1 18.a0 18.a1 19.a0 19.a1 "
    "16.a4 16.a5 17.a4 17.a5 18.a4 18.a5 19.a4 19.a5",
    "20.a0 20.a1 21.a0 21.a1 22.a0 22.a1 23.a0 23.a1 "
    "20.a4 20.a5 21.a4 21.a5 22.a4 22.a5 23.a4 23.a5",
    "24.a0 24.a1 25.a0 25.a1 26.a0 26.a1 27.a0 27.a1 "
    "24.a4 24.a5 25.a4 25.a5 26.a4 26.a5 27.a4 27.a5",
    "28.a0 28.a1 29.a0 29.a1 30.a0 30.a1 31.a0 31.a1 "
    "28.a4 28.a5 29.a4 29.a5 30.a4 30.a5 31.a4 31.a5",
    "0.a2 0.a3 1.a2 1.a3 2.a2 2.a3 3.a2 3.a3 0.a6 0.a7 1.a6 1.a7 2.a6 2.a7 3.a6 3.a7",
    "4.a2 4.a3 5.a2 5.a3 6.a2 6.a3 7.a2 7.a3 4.a6 4.a7 5.a6 5.a7 6.a6 6.a7 7.a6 7.a7",
    "8.a2 8.a3 9.a2 9.a3 10.a2 10.a3 11.a2 11.a3 8.a6 8.a7 9.a6 9.a7 10.a6 10.a7 11.a6 11.a7",
    "12.a2 12.a3 13.a2 13.a3 14.a2 14.a3 15.a2 15.a3 "
    "12.a6 12.a7 13.a6 13.a7 14.a6 14.a7 15.a6 15.a7",
    "16.a2 16.a3 17.a2 17.a3 18.a2 18.a3 19.a2 19.a3 "
    "16.a6 16.a7 17.a6 17.a7 18.a6 18.a7 19.a6 19.a7",
    "20.a2 20.a3 21.a2 21.a3 22.a2 22.a3 23.a2 23.a3 "
    "20.a6 20.a7 21.a6 21.a7 22.a6 22.a7 23.a6 23.a7",
    "24.a2 24.a3 25.a2 25.a3 26.a2 26.a3 27.a2 27.a3 "
    "24.a6 24.a7 25.a6 25.a7 26.a6 26.a7 27.a6 27.a7",
    "28.a2 28.a3 29.a2 29.a3 30.a2 30.a3 31.a2 31.a3 "
    "28.a6 28.a7 29.a6 29.a7 30.a6 30.a7 31.a6 31.a7",
};
static const char *const fragmentOf16B[16] = {
    "0.b0 4.b0 8.b0 12.b0 16.b0 20.b0 24.b0 28.b0",
    "0.b1 4.b1 8.b1 12.b1 16.b1 20.b1 24.b1 28.b1",
    "1.b0 5.b0 9.b0 13.b0 17.b0 21.b0 25.b0 29.b0",
    "1.b1 5.b1 9.b1 13.b1 17.b1 21.b1 25.b1 29.b1",
    "2.b0 6.b0 10.b0 14.b0 18.b0 22.b0 26.b0 30.b0",
    "2.b1 6.b1 10.b1 14.b1 18.b1 22.b1 26.b1 30.b1",
    "3.b0 7.b0 11.b0 15.b0 19.b0 23.b0 27.b0 31.b0",
    "3.b1 7.b1 11.b1 15.b1 19.b1 23.b1 27.b1 31.b1",
    "0.b2 4.b2 8.b2 12.b2 16.b2 20.b2 24.b2 28.b2",
    "0.b3 4.b3 8.b3 12.b3 16.b3 20.b3 24.b3 28.b3",
    "1.b2 5.b2 9.b2 13.b2 17.b2 21.b2 25.b2 29.b2",
    "1.b3 5.b3 9.b3 13.b3 17.b3 21.b3 25.b3 29.b3",
    "2.b2 6.b2 10.b2 14.b2 18.b2 22.b2 26.b2 30.b2",
    "2.b3 6.b3 10.b3 14.b3 18.b3 22.b3 26.b3 30.b3",
    "3.b2 7.b2 11.b2 15.b2 19.b2 23.b2 27.b2 31.b2",
    "3.b3 7.b3 11.b3 15.b3 19.b3 23.b3 27.b3 31.b3",
};

static void multiplyBF16(void **arguments) {
  uint32_t lane = bppsa_emu_laneid();
  auto *a = argument<uint32_t *>(arguments, 0) + 4 * lane;
  auto *b = argument<uint32_t *>(arguments, 1) + 2 * lane;
  auto *d = argument<float *>(arguments, 2) + 4 * lane;
  float c[4] = {1, 2, 3, 4};
  bppsa_emu_mma_m16n8k16_bf16(a, b, c, d, "mma");
}

TEST(EmulatorMmaTest, MultipliesMatricesOfBF16) {
  // Integers of eight bits, the precision of bf16.
  Random random(2);
  auto draw = [&] { return static_cast<float>(random.below(255)) - 127; };
  float a[16][16], b[16][8];
  uint16_t packedA[32][8], packedB[32][4];
  auto pack = [](float value) { return static_cast<uint16_t>(bppsa_emu_bf16x2(value, 0) >> 16); };
  readFigure(
      fragmentOf16A,
      [&](int i, int k, int lane, int n) { packedA[lane][n] = pack(a[i][k] = draw()); }, 16);
  readFigure(fragmentOf16B,
             [&](int k, int j, int lane, int n) { packedB[lane][n] = pack(b[k][j] = draw()); });
  Fragments<4> d;
  void *pointers[] = {packedA, packedB, d[0].data()};
  void *arguments[] = {&pointers[0], &pointers[1], &pointers[2]};
  Emulator().launch("mma", multiplyBF16, {1}, {32}, arguments);
  readFigure(fragmentC, [&](int i, int j, int lane, int r) {
    float sum = static_cast<float>(r + 1);
    for (int k = 0; k < 16; ++k)
      sum += a[i][k] * b[k][j];
    EXPECT_EQ(d[lane][r], sum) << "row " << i << " column " << j;
  });
}

// PTX ISA, "cvt": .rn rounds to nearest, ties to even; the first operand is the upper half.
TEST(EmulatorMmaTest, RoundsToBF16) {
  EXPECT_EQ(bppsa_emu_bf16x2(1.0f, -2.0f), 0x3f80c000u);
  EXPECT_EQ(bppsa_emu_bf16x2(1.0f + 0x1p-8f, 1.0f + 0x1p-7f + 0x1p-8f), 0x3f803f82u);
  EXPECT_EQ(bppsa_emu_bf16x2(1.0f + 0x1p-8f + 0x1p-23f, INFINITY), 0x3f817f80u);
  EXPECT_EQ(bppsa_emu_bf16x2(NAN, 0.0f), 0x7fff0000u);
}
