//===- PlanEvaluationTest.cpp - costs against a simulation of the scan ----===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Expected costs come from Algorithm 1 of the BPPSA paper, run on arrays of 0/1 matrices, and from
// formulas.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/PlanEvaluation.h"
#include "ScanSimulation.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <map>
#include <random>

using namespace bppsa;
using namespace bppsa::test;

using GroupKind = LevelCost::Group::Kind;
using Phase = LevelCost::Phase;

namespace {
struct Example {
  LinkChain chain;
  std::vector<Mask> elements;
};
} // namespace

static mlir::MLIRContext &getContext() {
  static mlir::MLIRContext context;
  context.loadDialect<BPPSADialect>();
  return context;
}

static MatrixStructure makeDense(int64_t rows, int64_t cols) {
  return MatrixStructure::getDense(&getContext(), rows, cols);
}

static MatrixStructure makeSquare(jacobian::StructureKind kind, int64_t size) {
  return MatrixStructure(jacobian::StructureAttr::get(&getContext(), kind), size, size);
}

static Example makeExample(int64_t numLinks, uint64_t seed) {
  std::mt19937_64 random(seed);
  int64_t size = random() % 5 + 2;
  Example example;
  example.elements.push_back({size, 1, std::vector<char>(size, 1)});
  for (int64_t k = 0; k < numLinks; ++k) {
    int64_t kind = random() % 3, rows = kind == 2 ? random() % 5 + 2 : size;
    Mask mask{rows, size, std::vector<char>(rows * size, kind == 2)};
    if (kind < 2)
      for (int64_t i = 0; i < size; ++i)
        mask.entries[i * size + i] = 1;
    mask.isIdentity = kind == 0;
    example.chain.links.push_back(kind == 0   ? makeSquare(jacobian::StructureKind::Identity, size)
                                  : kind == 1 ? makeSquare(jacobian::StructureKind::Diagonal, size)
                                              : makeDense(rows, size));
    example.elements.push_back(std::move(mask));
    size = rows;
  }
  return example;
}

static PlanEvaluation evaluate(const LinkChain &chain, llvm::StringRef plan,
                               const EvaluationOptions &options = {}) {
  return *evaluatePlan(chain, PlanAttr::fromString(&getContext(), plan), options);
}

static void expectEqual(const PlanEvaluation &found, const Totals &expected,
                        const std::string &what) {
  EXPECT_EQ(found.composes, expected.composes) << what;
  EXPECT_EQ(found.applies, expected.applies) << what;
  EXPECT_EQ(found.flops, expected.flops) << what;
  EXPECT_EQ(found.spanFlops, expected.span) << what;
}

TEST(PlanEvaluationTest, TreesCostWhatAlgorithm1Does) {
  for (int64_t numLinks = 1; numLinks <= 24; ++numLinks)
    for (int64_t levels = 0; levels <= 6; ++levels) {
      Example example = makeExample(numLinks, 100 * numLinks + levels);
      std::string plan = levels == 6 ? "blelloch" : "hybrid:" + std::to_string(levels);
      Totals expected = Simulation(example.elements).run(levels == 6 ? 60 : levels);
      PlanEvaluation found = evaluate(example.chain, plan);
      expectEqual(found, expected, plan + " on " + std::to_string(numLinks));
      EXPECT_EQ(found.criticalPathFlops, expected.criticalPath) << plan << ' ' << numLinks;
      EXPECT_EQ(found.steps, expected.steps) << plan << ' ' << numLinks;
    }
}

TEST(PlanEvaluationTest, ChunksCostWhatTheirThreePhasesDo) {
  for (int64_t numLinks = 1; numLinks <= 24; ++numLinks)
    for (int64_t size = 1; size <= 9; ++size) {
      Example example = makeExample(numLinks, 100 * numLinks + size);
      std::string plan = "chunked:" + std::to_string(size);
      expectEqual(evaluate(example.chain, plan), Simulation(example.elements).runChunked(size),
                  plan + " on " + std::to_string(numLinks));
    }
}

//===----------------------------------------------------------------------===//
// Closed forms
//===----------------------------------------------------------------------===//

static LinkChain makeDenseChain(int64_t numLinks, int64_t size) {
  LinkChain chain;
  chain.links.assign(numLinks, makeDense(size, size));
  return chain;
}

TEST(PlanEvaluationTest, BlellochHasLogarithmicDepth) {
  for (int64_t height = 2; height <= 12; ++height) {
    int64_t n = (int64_t(1) << height) - 1, H = 20;
    PlanEvaluation plan = evaluate(makeDenseChain(n, H), "blelloch");
    EXPECT_EQ(plan.composes, n - 1 - 2 * (height - 1));
    EXPECT_EQ(plan.applies, height - 1 + n - height);
    EXPECT_EQ(plan.flops, plan.composes * 2 * H * H * H + plan.applies * 2 * H * H);
    EXPECT_LE(plan.depth, 2 * height);
    // Each up-sweep level but the last has a matrix product, each down-sweep level but the first a
    // product with a vector.
    EXPECT_EQ(plan.criticalPathFlops,
              (height - 2) * 2 * H * H * H + 2 * H * H + (height - 1) * 2 * H * H);
  }
}

TEST(PlanEvaluationTest, LinearAppliesEveryLinkOnce) {
  LinkChain chain = makeDenseChain(1000, 20);
  EXPECT_EQ(evaluate(chain, "linear").flops, 999 * 2 * 400);
  chain.withInitial = true;
  chain.batch = 16;
  PlanEvaluation plan = evaluate(chain, "linear");
  EXPECT_EQ(plan.flops, 1000 * 2 * 400 * 16);
  EXPECT_EQ(plan.criticalPathFlops, 1000 * 2 * 400);
  EXPECT_EQ(plan.depth, 1000);
  // A thousand equal levels are printed once.
  EXPECT_LE(plan.levels.size(), 3u);
}

/// Reference section 1.4: with the paper's code, an RNN with H = 20 needs about 2 * 2 H^3 FLOPs per
/// time step in the up-sweep and 2 * 2 H^2 in the down-sweep, because W_hh and the derivative of
/// tanh are two elements of the array. With one element, as for a GRU, it needs half.
TEST(PlanEvaluationTest, RecurrentCellsCostWhatThePapersCodeCounts) {
  int64_t H = 20, T = 1 << 12;
  for (int64_t slots : {1, 2}) {
    PlanEvaluation plan = evaluate(makeDenseChain(slots * T, H), "blelloch");
    int64_t up = 0, down = 0;
    for (const LevelCost &level : plan.levels)
      (level.phase == Phase::Up ? up : down) += level.flops * level.repeat;
    EXPECT_NEAR(double(up) / T, slots * 2 * H * H * H, 0.01 * slots * 2 * H * H * H);
    EXPECT_NEAR(double(down) / T, slots * 2 * H * H, 0.01 * slots * 2 * H * H);
  }
  // Sequential: 2 H^2 + H if the factor of tanh counts H.
  EXPECT_EQ(evaluate(makeDenseChain(T, H), "linear").flops, (T - 1) * 2 * H * H);
}

/// The same array with known structure: all steps and samples share W, and the derivative of tanh
/// is diagonal.
TEST(PlanEvaluationTest, KnownStructureRemovesTheFirstLevelOfProducts) {
  int64_t H = 20, T = 1 << 10;
  LinkChain chain;
  for (int64_t t = 0; t < T; ++t) {
    chain.links.push_back(makeSquare(jacobian::StructureKind::Diagonal, H));
    chain.links.push_back(makeDense(H, H).withShared(true));
  }
  PlanEvaluation plan = evaluate(chain, "blelloch");
  int64_t dense = 0, scaled = 0;
  for (const LevelCost &level : plan.levels)
    for (const LevelCost::Group &group : level.groups)
      if (group.kind == GroupKind::Compose)
        (group.first == "dense" && group.second == "dense" ? dense : scaled) += group.flops;
  EXPECT_NEAR(double(dense) / T, 2 * H * H * H, 0.02 * 2 * H * H * H);
  EXPECT_NEAR(double(scaled) / T, H * H, 0.02 * H * H);
}

/// Multiplying or applying a diagonal takes one multiplication per element. An injected cotangent
/// adds an addition, and for affine pairs also a multiplication.
TEST(PlanEvaluationTest, DiagonalsOnlyMultiply) {
  int64_t n = 1023, H = 20;
  LinkChain chain;
  chain.links.assign(n, makeSquare(jacobian::StructureKind::Diagonal, H));
  for (bool injected : {false, true}) {
    chain.hasInjected = injected;
    PlanEvaluation linear = evaluate(chain, "linear"), tree = evaluate(chain, "blelloch");
    EXPECT_EQ(linear.flops, (n - 1) * H * (injected ? 2 : 1));
    EXPECT_EQ(tree.flops, tree.composes * H * (injected ? 3 : 1) + linear.flops);
    EXPECT_LT(tree.composes, n);
    EXPECT_LT(evaluate(chain, "chunked:32").flops, (injected ? 2.5 : 2) * linear.flops);
  }
}

/// Identities are not multiplied. If cotangents are injected, they are not applied either.
TEST(PlanEvaluationTest, IdentitiesOnlyPassOn) {
  LinkChain chain;
  chain.links.assign(63, makeSquare(jacobian::StructureKind::Identity, 20));
  EXPECT_EQ(evaluate(chain, "blelloch").flops, 0);
  chain.hasInjected = true;
  PlanEvaluation plan = evaluate(chain, "blelloch");
  EXPECT_EQ(plan.flops, (plan.composes + plan.applies) * 20);
}

//===----------------------------------------------------------------------===//
// Links as regions of code
//===----------------------------------------------------------------------===//

static LinkChain makeRecurrence(int64_t numLinks, int64_t size) {
  LinkChain chain = makeDenseChain(numLinks, size);
  chain.region = RegionCost{/*stateFlops=*/1000, /*emitFlops=*/60, /*fullFlops=*/1040};
  return chain;
}

TEST(PlanEvaluationTest, ChunksOfCodeWalkColumns) {
  int64_t K = 8, C = 32, H = 20;
  for (int64_t injected : {0, 1}) {
    LinkChain chain = makeRecurrence(K * C, H);
    chain.hasInjected = injected;
    PlanEvaluation plan = evaluate(chain, "chunked:32");
    EXPECT_EQ(plan.composes, (K - 2) * (C - 1));
    EXPECT_EQ(plan.applies, C + (K - 2) + (K - 1) * (C - 1));
    // The first chunk runs once, the others as H columns, the last only as a vector. Every
    // aggregate is applied once, and the last step of each run only emits.
    int64_t adds = injected * H;
    int64_t aggregates = (K - 2) * C * ((H + injected) * 1000 + adds);
    int64_t runs = (C + (K - 1) * (C - 1)) * (1040 + adds) + (K - 1) * 60;
    int64_t carries = (K - 2) * (2 * H * H + adds);
    EXPECT_EQ(plan.flops, aggregates + runs + carries);
    EXPECT_EQ(plan.linkBytes, 0);
  }
}

TEST(PlanEvaluationTest, TreesOfCodeFormMatricesThatTheyRead) {
  int64_t H = 20, n = 7;
  PlanEvaluation plan = evaluate(makeRecurrence(n, H), "blelloch");
  ASSERT_EQ(plan.levels.front().phase, Phase::Linearize);
  EXPECT_EQ(plan.levels.front().count(GroupKind::Linearize), n - 1);
  EXPECT_EQ(plan.levels.front().flops, (n - 1) * H * 1000);
  ASSERT_EQ(plan.levels.back().phase, Phase::Emit);
  EXPECT_EQ(plan.levels.back().flops, n * 60);
}

/// For links that only scale, a tree computes vectors: once the work of the chain, and as much
/// again for their products.
TEST(PlanEvaluationTest, TreesOfCodeThatScales) {
  int64_t H = 20, n = 1023;
  LinkChain chain = makeRecurrence(n, H);
  chain.links.assign(n, makeSquare(jacobian::StructureKind::Diagonal, H));
  chain.region = RegionCost{/*stateFlops=*/H, /*emitFlops=*/0, /*fullFlops=*/H};
  int64_t linear = evaluate(chain, "linear").flops;
  EXPECT_EQ(linear, (n - 1) * H);
  PlanEvaluation tree = evaluate(chain, "blelloch");
  EXPECT_EQ(tree.levels.front().flops, linear);
  EXPECT_EQ(tree.flops, 2 * linear + tree.composes * H);
  EXPECT_LT(evaluate(chain, "chunked:32").flops, 2.1 * linear);
}

//===----------------------------------------------------------------------===//
// Bytes, memory and workers
//===----------------------------------------------------------------------===//

TEST(PlanEvaluationTest, BytesOfAShortChain) {
  // g1 = J1 g0 with J1 shared by 3 samples; g2 = J2 g1 with one J2 per sample.
  LinkChain chain;
  chain.links = {makeDense(4, 5).withShared(true), makeDense(2, 4), makeDense(7, 2)};
  chain.batch = 3;
  PlanEvaluation plan = evaluate(chain, "linear");
  EXPECT_EQ(plan.bytes, 4 * (20 + 3 * 5 + 3 * 4) + 4 * (3 * 8 + 3 * 4 + 3 * 2));
  // The last link is not read.
  EXPECT_EQ(plan.linkBytes, 4 * (20 + 3 * 8));
  // Every cotangent is a result.
  EXPECT_EQ(plan.peakBytes, 4 * 3 * (5 + 4 + 2));
}

TEST(PlanEvaluationTest, SharedProductsAreFormedOnceForABatch) {
  LinkChain chain;
  chain.links.assign(8, makeDense(6, 6).withShared(true));
  chain.batch = 10;
  PlanEvaluation plan = evaluate(chain, "hybrid:1");
  EXPECT_EQ(plan.flops, plan.composes * 2 * 216 + plan.applies * 10 * 2 * 36);
}

/// Greedy longest-first schedule, task by task.
static int64_t scheduleNaively(std::vector<std::pair<int64_t, int64_t>> tasks, int64_t workers) {
  std::vector<int64_t> all, loads(workers, 0);
  for (auto [flops, count] : tasks)
    all.insert(all.end(), count, flops);
  std::sort(all.rbegin(), all.rend());
  for (int64_t flops : all)
    *std::min_element(loads.begin(), loads.end()) += flops;
  return *std::max_element(loads.begin(), loads.end());
}

TEST(PlanEvaluationTest, MakespansAreThoseOfTheGreedySchedule) {
  std::mt19937_64 random(7);
  for (int64_t example = 0; example < 500; ++example) {
    std::map<int64_t, int64_t> tasks;
    for (uint64_t group = random() % 6; group > 0; --group)
      tasks[random() % 30] += random() % 40;
    std::vector<std::pair<int64_t, int64_t>> list(tasks.begin(), tasks.end());
    int64_t workers = random() % 9 + 1;
    EXPECT_EQ(getMakespan(list, workers), scheduleNaively(list, workers)) << example;
  }
}

TEST(PlanEvaluationTest, ManyWorkersTakeAsLongAsTheCriticalPath) {
  EvaluationOptions options;
  options.workers = {1, 1000000};
  options.stepOverhead = 5;
  LinkChain chain = makeDenseChain(100, 6);
  chain.batch = 3;
  PlanEvaluation plan = evaluate(chain, "hybrid:2", options);
  EXPECT_EQ(plan.makespans[0].flops, plan.flops + 5 * plan.steps);
  EXPECT_EQ(plan.makespans[1].flops, plan.criticalPathFlops + 5 * plan.steps);
}

TEST(PlanEvaluationTest, LinksThatDoNotComposeAreFound) {
  LinkChain chain = makeDenseChain(3, 4);
  EXPECT_EQ(findMismatch(chain), 0);
  chain.links[2] = makeDense(4, 5);
  EXPECT_EQ(findMismatch(chain), 3);
}
