//===- PlanEvaluationTest.cpp - costs against a simulation of the scan ----===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The expected costs come from Algorithm 1 of the BPPSA paper, run here on
// arrays of 0/1 matrices with the three nested loops of a matrix product, and
// from formulas.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Analysis/PlanEvaluation.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <map>
#include <random>

using namespace bppsa;

using GroupKind = LevelCost::Group::Kind;
using Phase = LevelCost::Phase;

//===----------------------------------------------------------------------===//
// Algorithm 1
//===----------------------------------------------------------------------===//

namespace {
/// A matrix of zeros and ones; the identity is never multiplied with.
struct Mask {
  int64_t rows = 0, cols = 0;
  std::vector<char> entries;
  bool isIdentity = false;
};

struct Totals {
  int64_t composes = 0, applies = 0, flops = 0, criticalPath = 0, steps = 0, span = 0;
};

/// Runs the scan and remembers who read what, so that products that nothing
/// needs can be left out of the counts.
class Simulation {
public:
  explicit Simulation(std::vector<Mask> elements) {
    for (Mask &element : elements)
      nodes.push_back({std::move(element), -1, -1, -1, 0, false});
  }

  /// `numLevels` levels of the up-sweep.
  Totals run(int64_t numLevels) {
    int64_t n = int64_t(nodes.size()) - 1, height = 0;
    while ((int64_t(1) << height) < n + 1)
      ++height;
    numLevels = std::min(numLevels, height - 1);
    std::vector<int64_t> a(n + 1);
    for (int64_t i = 0; i <= n; ++i)
      a[i] = i;
    int64_t level = 0;
    for (int64_t d = 0; d < numLevels; ++d, ++level)
      for (int64_t i = 0; i <= n - (1 << d); i += int64_t(2) << d) {
        int64_t l = i + (1 << d) - 1, r = std::min(i + (int64_t(2) << d) - 1, n);
        a[r] = combine(a[l], a[r], level);
      }
    // The exclusive scan of the block roots; the total goes to the end.
    int64_t prefix = -1;
    for (int64_t root = (1 << numLevels) - 1; root < n; root += 1 << numLevels, ++level) {
      int64_t total = combine(prefix, a[root], level);
      a[root] = prefix;
      prefix = total;
    }
    a[n] = prefix;
    for (int64_t d = numLevels - 1; d >= 0; --d, ++level)
      for (int64_t i = 0; i <= n - (1 << d); i += int64_t(2) << d) {
        int64_t l = i + (1 << d) - 1, r = std::min(i + (int64_t(2) << d) - 1, n);
        int64_t t = a[l];
        a[l] = a[r];
        a[r] = combine(a[r], t, level);
      }
    for (int64_t i = 1; i <= n; ++i)
      markNeeded(a[i]);
    return count();
  }

  /// Runs of `size` links; the first has the seed.
  Totals runChunked(int64_t size) {
    int64_t n = int64_t(nodes.size()) - 1, level = 1000000;
    int64_t carry = 0;
    for (int64_t first = 1; first <= n; first += size) {
      int64_t last = std::min(first + size - 1, n);
      int64_t entering = carry, aggregate = first == 1 ? 0 : first;
      for (int64_t link = first; link <= last; ++link) {
        markNeeded(entering);
        if (link < last)
          entering = combine(entering, link, level++);
        if (first == 1 || link > first)
          aggregate = first == 1 ? (link < last ? entering : combine(entering, link, level++))
                                 : combine(aggregate, link, level++);
      }
      carry = first == 1 ? aggregate : combine(carry, aggregate, level++);
    }
    return count();
  }

private:
  struct Node {
    Mask mask;
    int64_t left, right, level, flops;
    bool isNeeded;
    int64_t finish = 0;
  };

  /// left <> right = right * left; -1 is the identity that nobody multiplies with.
  int64_t combine(int64_t left, int64_t right, int64_t level) {
    if (left < 0)
      return right;
    const Mask &a = nodes[left].mask, &b = nodes[right].mask;
    Mask out{b.rows, a.cols, std::vector<char>(b.rows * a.cols, 0)};
    int64_t pairs = 0;
    for (int64_t i = 0; i < b.rows; ++i)
      for (int64_t k = 0; k < b.cols; ++k)
        for (int64_t j = 0; j < a.cols; ++j)
          if (b.entries[i * b.cols + k] && a.entries[k * a.cols + j]) {
            ++pairs;
            out.entries[i * a.cols + j] = 1;
          }
    if (a.isIdentity || b.isIdentity)
      pairs = 0;
    out.isIdentity = a.isIdentity && b.isIdentity;
    // Cotangents are dense whatever made them.
    if (a.cols == 1)
      std::fill(out.entries.begin(), out.entries.end(), 1);
    int64_t finish = std::max(nodes[left].finish, nodes[right].finish) + 2 * pairs;
    nodes.push_back({std::move(out), left, right, level, 2 * pairs, false, finish});
    return nodes.size() - 1;
  }

  void markNeeded(int64_t node) {
    if (nodes[node].isNeeded)
      return;
    nodes[node].isNeeded = true;
    if (nodes[node].left >= 0) {
      markNeeded(nodes[node].left);
      markNeeded(nodes[node].right);
    }
  }

  Totals count() const {
    Totals totals;
    std::map<int64_t, int64_t> most;
    for (const Node &node : nodes) {
      if (!node.isNeeded || node.left < 0)
        continue;
      (node.mask.cols == 1 ? totals.applies : totals.composes) += 1;
      totals.flops += node.flops;
      totals.span = std::max(totals.span, node.finish);
      most[node.level] = std::max(most[node.level], node.flops);
    }
    for (auto [level, flops] : most)
      totals.criticalPath += flops;
    totals.steps = most.size();
    return totals;
  }

  std::vector<Node> nodes;
};

struct Example {
  LinkChain chain;
  std::vector<Mask> elements;
};
} // namespace

/// A chain of random links whose sizes compose, and the array of Algorithm 1.
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
    example.chain.links.push_back(kind == 0   ? MatrixStructure::getIdentity(size)
                                  : kind == 1 ? MatrixStructure::getDiagonal(size)
                                              : MatrixStructure::getDense(rows, size));
    example.elements.push_back(std::move(mask));
    size = rows;
  }
  return example;
}

static PlanEvaluation evaluate(const LinkChain &chain, llvm::StringRef plan,
                               const EvaluationOptions &options = {}) {
  mlir::MLIRContext context;
  context.loadDialect<BPPSADialect>();
  return *evaluatePlan(chain, PlanAttr::fromString(&context, plan), options);
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
  chain.links.assign(numLinks, MatrixStructure::getDense(size, size));
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
    // Each level up but the last has a product of matrices, each down but the
    // first one with a vector.
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

/// Reference section 1.4: of the paper's code an RNN with H = 20 needs about
/// 2 * 2 H^3 FLOPs on the way up and 2 * 2 H^2 on the way down for each time step,
/// because W_hh and the derivative of tanh are two elements of the array; with
/// one element, half as much. A GRU has one.
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
  // Sequential: 2 H^2 + H where the factor of tanh counts H.
  EXPECT_EQ(evaluate(makeDenseChain(T, H), "linear").flops, (T - 1) * 2 * H * H);
}

/// The same array with what is known of its elements: W is shared by all steps
/// and samples, and the derivative of tanh is a diagonal.
TEST(PlanEvaluationTest, KnownStructureRemovesTheFirstLevelOfProducts) {
  int64_t H = 20, T = 1 << 10;
  LinkChain chain;
  for (int64_t t = 0; t < T; ++t) {
    chain.links.push_back(MatrixStructure::getDiagonal(H));
    chain.links.push_back(MatrixStructure::getDense(H, H).withShared(true));
  }
  PlanEvaluation plan = evaluate(chain, "blelloch");
  int64_t dense = 0, scaled = 0;
  for (const LevelCost &level : plan.levels)
    for (const LevelCost::Group &group : level.groups)
      if (group.kind == GroupKind::Compose)
        (group.first == "dense" && group.second == "dense" ? dense : scaled) += group.flops;
  EXPECT_NEAR(double(dense) / T, 2 * H * H * H, 0.02 * 2 * H * H * H);
  EXPECT_NEAR(double(scaled) / T, 2 * H * H, 0.02 * 2 * H * H);
}

TEST(PlanEvaluationTest, AChainOfDiagonalsTwiceTheWorkOfTheLinearPlan) {
  LinkChain chain;
  chain.links.assign(1023, MatrixStructure::getDiagonal(20));
  EXPECT_LT(evaluate(chain, "blelloch").flops, 2 * evaluate(chain, "linear").flops);
}

//===----------------------------------------------------------------------===//
// Links that are code
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
    // The first chunk is walked once; the others as H columns, and the last
    // only as a vector. Every aggregate is applied once, and the last step of
    // each walk only emits.
    int64_t adds = injected * H;
    int64_t aggregates = (K - 2) * C * ((H + injected) * 1000 + adds);
    int64_t walks = (C + (K - 1) * (C - 1)) * (1040 + adds) + (K - 1) * 60;
    int64_t carries = (K - 2) * (2 * H * H + adds);
    EXPECT_EQ(plan.flops, aggregates + walks + carries);
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

//===----------------------------------------------------------------------===//
// Bytes, memory and workers
//===----------------------------------------------------------------------===//

TEST(PlanEvaluationTest, BytesOfAShortChain) {
  // g1 = J1 g0 with J1 shared by 3 samples, g2 = J2 g1 with one J2 a sample.
  LinkChain chain;
  chain.links = {MatrixStructure::getDense(4, 5).withShared(true), MatrixStructure::getDense(2, 4),
                 MatrixStructure::getDense(7, 2)};
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
  chain.links.assign(8, MatrixStructure::getDense(6, 6).withShared(true));
  chain.batch = 10;
  PlanEvaluation plan = evaluate(chain, "hybrid:1");
  EXPECT_EQ(plan.flops, plan.composes * 2 * 216 + plan.applies * 10 * 2 * 36);
}

/// Greedy, longest first, one task at a time.
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
  chain.links[2] = MatrixStructure::getDense(4, 5);
  EXPECT_EQ(findMismatch(chain), 3);
}
