//===- ScanScheduleTest.cpp - compares scan plans with a naive scan -------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/ScanSchedule.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <array>
#include <cmath>
#include <random>
#include <set>

using namespace bppsa;

using Kind = ScanOperation::Kind;

namespace {
constexpr int64_t size = 3;
constexpr int64_t maxLinks = 70;

/// A matrix, or a vector in its first column. Unsigned integers wrap, so products are exact and
/// associative, but not commutative.
using Matrix = std::array<uint64_t, size * size>;

struct Plan {
  std::string name;
  ScanSchedule schedule;
};
} // namespace

/// left <> right = right * left.
static Matrix multiply(const Matrix &left, const Matrix &right) {
  Matrix result{};
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j < size; ++j)
      for (int64_t k = 0; k < size; ++k)
        result[i * size + j] += right[i * size + k] * left[k * size + j];
  return result;
}

/// Creates the seed, a vector in the first column, and `numLinks` random matrices.
static std::vector<Matrix> makeElements(int64_t numLinks) {
  std::mt19937_64 random(numLinks);
  std::vector<Matrix> elements(numLinks + 1, Matrix{});
  for (Matrix &element : elements)
    for (uint64_t &entry : element)
      entry = random();
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 1; j < size; ++j)
      elements[0][i * size + j] = 0;
  return elements;
}

static std::vector<Plan> makePlans(int64_t numLinks, bool withInitial) {
  std::vector<Plan> plans = {{"linear", ScanSchedule::getLinear(numLinks, withInitial)},
                             {"blelloch", ScanSchedule::getBlelloch(numLinks, withInitial)}};
  for (int64_t levels = 0; levels <= 8; ++levels)
    plans.push_back({"hybrid:" + std::to_string(levels),
                     ScanSchedule::getHybrid(numLinks, levels, withInitial)});
  for (int64_t chunk = 1; chunk <= numLinks + 1; ++chunk) {
    plans.push_back({"chunked:" + std::to_string(chunk),
                     ScanSchedule::getChunked(numLinks, chunk, withInitial)});
    plans.push_back({"chunked:" + std::to_string(chunk) + " from a matrix",
                     ScanSchedule::getChunked(numLinks, chunk, withInitial, FirstChunk::Matrix)});
  }
  return plans;
}

/// Computes all values of `schedule` from `elements`.
static std::vector<Matrix> execute(const ScanSchedule &schedule,
                                   const std::vector<Matrix> &elements) {
  std::vector<Matrix> values = elements;
  values.resize(schedule.getNumValues(), Matrix{});
  for (const ScanLevel &level : schedule.getLevels())
    for (ScanOperation op : level.operations)
      values[op.out] =
          op.kind == Kind::Copy ? values[op.left] : multiply(values[op.left], values[op.right]);
  return values;
}

TEST(ScanScheduleTest, EveryPlanAgreesWithTheNaiveScan) {
  for (int64_t numLinks = 1; numLinks <= maxLinks; ++numLinks) {
    std::vector<Matrix> elements = makeElements(numLinks);
    for (const Plan &plan : makePlans(numLinks, /*withInitial=*/true)) {
      std::vector<Matrix> values = execute(plan.schedule, elements);
      Matrix expected = elements[0];
      for (int64_t link = 1; link <= numLinks; ++link) {
        EXPECT_EQ(values[plan.schedule.getEntering(link)], expected)
            << plan.name << ", " << numLinks << " links, link " << link;
        expected = multiply(expected, elements[link]);
      }
      EXPECT_EQ(values[plan.schedule.getInitial()], expected) << plan.name << ", " << numLinks;
    }
  }
}

TEST(ScanScheduleTest, LevelsAreIndependentAndNothingIsDead) {
  for (int64_t numLinks = 1; numLinks <= maxLinks; ++numLinks)
    for (const Plan &plan : makePlans(numLinks, /*withInitial=*/false)) {
      std::set<int64_t> defined, read;
      for (int64_t element = 0; element <= numLinks; ++element)
        defined.insert(element);
      for (const ScanLevel &level : plan.schedule.getLevels()) {
        for (ScanOperation op : level.operations) {
          EXPECT_TRUE(defined.count(op.left)) << plan.name << ", " << numLinks;
          EXPECT_TRUE(op.kind == Kind::Copy || defined.count(op.right)) << plan.name;
          read.insert({op.left, op.right});
        }
        for (ScanOperation op : level.operations)
          EXPECT_TRUE(defined.insert(op.out).second) << plan.name << ", " << numLinks;
      }
      for (int64_t link = 1; link <= numLinks; ++link)
        read.insert(plan.schedule.getEntering(link));
      for (const ScanLevel &level : plan.schedule.getLevels())
        for (ScanOperation op : level.operations)
          EXPECT_TRUE(read.count(op.out)) << plan.name << ", " << numLinks;
      EXPECT_FALSE(read.count(numLinks)) << "the last link is dead: " << plan.name;
    }
}

TEST(ScanScheduleTest, SeedIsAVectorAndDownSweepOnlyApplies) {
  for (int64_t numLinks = 1; numLinks <= maxLinks; ++numLinks)
    for (const Plan &plan : makePlans(numLinks, /*withInitial=*/true)) {
      std::set<int64_t> vectors = {0};
      for (const ScanLevel &level : plan.schedule.getLevels())
        for (ScanOperation op : level.operations) {
          EXPECT_EQ(op.kind == Kind::Compose, !vectors.count(op.left)) << plan.name;
          if (op.kind != Kind::Compose)
            vectors.insert(op.out);
          if (op.kind != Kind::Copy)
            EXPECT_FALSE(vectors.count(op.right)) << plan.name;
        }
      EXPECT_EQ(plan.schedule.count(Sweep::Down, Kind::Compose), 0) << plan.name;
      EXPECT_EQ(plan.schedule.count(Sweep::Middle, Kind::Compose), 0) << plan.name;
    }
}

/// With n + 1 = 2^L elements, the up-sweep has n - 1 products in L - 1 levels. In each level, the
/// first product is a matrix times the seed and the last one is dead. The down-sweep has n products
/// in L levels, the first of which is a copy in each level.
TEST(ScanScheduleTest, BlellochHasTheWorkAndDepthOfThePaper) {
  for (int64_t height = 1; height <= 16; ++height) {
    int64_t numLinks = (int64_t(1) << height) - 1;
    ScanSchedule schedule = ScanSchedule::getBlelloch(numLinks, /*withInitial=*/false);
    EXPECT_EQ(schedule.count(Sweep::Up, Kind::Compose), numLinks - 1 - 2 * (height - 1));
    EXPECT_EQ(schedule.count(Sweep::Up, Kind::Apply), height - 1);
    EXPECT_EQ(schedule.count(Kind::Copy), height);
    EXPECT_EQ(schedule.count(Sweep::Down, Kind::Apply), numLinks - height);
    EXPECT_LE(schedule.getDepth(), 2 * (height - 1));
  }
}

TEST(ScanScheduleTest, LinearOnlyApplies) {
  ScanSchedule schedule = ScanSchedule::getLinear(64, /*withInitial=*/false);
  EXPECT_EQ(schedule.count(Kind::Compose), 0);
  EXPECT_EQ(schedule.count(Kind::Apply), 63);
  EXPECT_EQ(schedule.getDepth(), 63);
}

TEST(ScanScheduleTest, HybridTradesDepthForMatrixProducts) {
  int64_t composes = 0, depth = 1023;
  for (int64_t levels = 1; levels <= 9; ++levels) {
    ScanSchedule schedule = ScanSchedule::getHybrid(1024, levels, /*withInitial=*/false);
    EXPECT_GT(schedule.count(Kind::Compose), composes) << levels;
    EXPECT_LE(schedule.getDepth(), depth) << levels;
    composes = schedule.count(Kind::Compose);
    depth = schedule.getDepth();
  }
}

/// Of 10 chunks of 32 links, 8 are aggregated by 31 products each. The first chunk runs once, the
/// carry crosses 8 chunks, and all chunks but the first run.
TEST(ScanScheduleTest, ChunkedCountsItsThreePhases) {
  ScanSchedule schedule = ScanSchedule::getChunked(320, 32, /*withInitial=*/false);
  EXPECT_EQ(schedule.count(Sweep::Up, Kind::Compose), 8 * 31);
  EXPECT_EQ(schedule.count(Sweep::Up, Kind::Apply), 32);
  EXPECT_EQ(schedule.count(Sweep::Middle, Kind::Apply), 8);
  EXPECT_EQ(schedule.count(Sweep::Down, Kind::Apply), 9 * 31);
  EXPECT_EQ(schedule.getDepth(), 32 + 8 + 31);
}

/// The first of 10 chunks is aggregated like the 8 chunks after it, and runs together with all
/// others.
TEST(ScanScheduleTest, ChunkedCountsTheFirstChunkAsAMatrix) {
  ScanSchedule schedule =
      ScanSchedule::getChunked(320, 32, /*withInitial=*/false, FirstChunk::Matrix);
  EXPECT_EQ(schedule.count(Sweep::Up, Kind::Compose), 9 * 31);
  EXPECT_EQ(schedule.count(Sweep::Up, Kind::Apply), 0);
  EXPECT_EQ(schedule.count(Sweep::Middle, Kind::Apply), 9);
  EXPECT_EQ(schedule.count(Sweep::Down, Kind::Apply), 10 * 31);
  EXPECT_EQ(schedule.getDepth(), 31 + 9 + 31);
}

TEST(ScanScheduleTest, PlansWithAChoiceForTheRunTimeHaveNoSchedule) {
  mlir::MLIRContext context;
  context.loadDialect<BPPSADialect>();
  auto hasSchedule = [&](llvm::StringRef text) {
    return ScanSchedule::get(PlanAttr::fromString(&context, text), 8, false).has_value();
  };
  EXPECT_FALSE(hasSchedule("chunked"));
  for (llvm::StringRef text : {"linear", "blelloch", "hybrid:2", "chunked:3"})
    EXPECT_TRUE(hasSchedule(text)) << text.str();
}
