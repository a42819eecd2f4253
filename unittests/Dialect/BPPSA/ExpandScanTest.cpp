//===- ExpandScanTest.cpp - expanded scans --------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Expands chains with a plan to loops and runs them in the interpreter, which counts products and
// links. The counts must match the schedule (shown in remarks), the evaluator and the formula of
// the paper. The results must match the sequential chain.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/ChainExtraction.h"
#include "bppsa/CostModel/PlanEvaluation.h"
#include "bppsa/Dialect/BPPSA/Analysis/ScanSchedule.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Scan/Passes.h"
#include "bppsa/Dialect/Jacobian/Transforms/Passes.h"
#include "bppsa/InitAll.h"
#include "bppsa/Reference/Interpreter.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"
#include <random>

using namespace bppsa;
using namespace mlir;

namespace {
constexpr int64_t maxSteps = 33, samples = 3, size = 3;

/// The counts and results of one call.
struct Outcome {
  ScanCounts counts;
  std::vector<Array> results;
};

class ExpandScanTest : public testing::TestWithParam<std::tuple<std::string, std::string>> {
protected:
  ExpandScanTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  std::string getPlan() { return std::get<0>(GetParam()); }
  FirstChunk getFirstChunk() {
    return has("whole") || has("lanes") ? FirstChunk::Matrix : FirstChunk::Vector;
  }
  bool has(llvm::StringRef word) { return llvm::StringRef(std::get<1>(GetParam())).contains(word); }
  OwningOpRef<ModuleOp> parse(llvm::StringRef plan);
  ChainOp getChain(ModuleOp module);
  void expand(ModuleOp module);
  Outcome run(ModuleOp module, int64_t steps);

  MLIRContext context;
};
} // namespace

/// Parses a module with a chain. `plan` is empty or a plan in IR syntax.
OwningOpRef<ModuleOp> ExpandScanTest::parse(llvm::StringRef plan) {
  std::string link = has("diagonal") ? "arith.mulf %at, %d : vector<3xf32>"
                                     : "bppsa.matvec transposed %wc, %d : vector<3x3xf32>, "
                                       "vector<3xf32> -> vector<3xf32>";
  std::string injected = has("injected") ? "injected(%s : tensor<?x?x3xf32>) inject_into [0]" : "";
  std::string text = R"(
    func.func @f(%a: tensor<?x?x3xf32>, %g: tensor<?x3xf32>, %s: tensor<?x?x3xf32>,
                 %w: tensor<3x3xf32>) -> (tensor<?x3xf32>, tensor<?x?x3xf32>) )" +
                     std::string(has("lanes") ? "attributes {bppsa.lanes = 1 : i64} " : "") + R"({
      %0:2 = bppsa.chain )" +
                     (plan.empty() ? "" : "plan <" + plan.str() + "> ") +
                     (has("reverse") ? "reverse " : "") +
                     R"(saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x3xf32>) )" + injected +
                     R"( captures(%w : tensor<3x3xf32>)
          -> (tensor<?x3xf32>) emitted(tensor<?x?x3xf32>) {
      ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>, %wc: vector<3x3xf32>):
        %d = arith.mulf %at, %gt : vector<3xf32>
        %e = )" + link +
                     R"(
        bppsa.yield %e, %d : vector<3xf32>, vector<3xf32>
      }
      return %0#0, %0#1 : tensor<?x3xf32>, tensor<?x?x3xf32>
    })";
  return parseSourceString<ModuleOp>(text, &context);
}

ChainOp ExpandScanTest::getChain(ModuleOp module) {
  ChainOp found;
  module.walk([&](ChainOp chain) { found = chain; });
  return found;
}

void ExpandScanTest::expand(ModuleOp module) {
  PassManager pm(&context);
  if (has("packed") || has("lanes")) {
    pm.addNestedPass<func::FuncOp>(createChooseCPUMapping({/*lanes=*/2}));
    pm.addNestedPass<func::FuncOp>(createPackBatch());
  }
  pm.addNestedPass<func::FuncOp>(createInferStructure({/*batchAxis=*/0, /*loopsOnly=*/true}));
  pm.addPass(createExpandScan({/*unrollUpTo=*/0, /*factorLinks=*/has("factored"),
                               /*wholeLevels=*/has("whole")}));
  ASSERT_TRUE(succeeded(pm.run(module)));
  module.walk([](ChainOp chain) { EXPECT_TRUE(chain.getPlan().isSequential()); });
}

Outcome ExpandScanTest::run(ModuleOp module, int64_t steps) {
  std::mt19937 random(steps);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Array> arguments;
  using Shape = std::vector<int64_t>;
  for (const Shape &shape : {Shape{steps, samples, size}, Shape{samples, size},
                             Shape{steps, samples, size}, Shape{size, size}}) {
    arguments.push_back(Array::makeZeros(shape));
    for (double &entry : arguments.back().reals)
      entry = uniform(random);
  }
  Interpreter interpreter(module);
  FailureOr<std::vector<Array>> results = interpreter.call("f", std::move(arguments));
  EXPECT_TRUE(succeeded(results));
  return {interpreter.counts, succeeded(results) ? std::move(*results) : std::vector<Array>()};
}

/// Returns the expected counts for the operations of `schedule` on `blocks` blocks of rows.
static ScanCounts getCounts(PlanAttr plan, const ScanSchedule &schedule, int64_t blocks,
                            FirstChunk firstChunk) {
  using Kind = ScanOperation::Kind;
  int64_t links = schedule.getNumLinks();
  if (plan.getAlgorithm() != ScanAlgorithm::Chunked)
    // All links but the last are linearized; the last one is applied to a cotangent.
    return {blocks * schedule.count(Kind::Compose), blocks * (schedule.count(Kind::Apply) - 1),
            blocks * (links - 1), blocks};
  // The matrix of a chunk of C links takes C - 1 products.
  int64_t carries = schedule.count(Sweep::Middle, Kind::Apply);
  int64_t onColumns = schedule.count(Sweep::Up, Kind::Compose) + carries;
  // The transition of a chunk is computed for all rows at once. Rows are carried and run
  // separately.
  if (firstChunk == FirstChunk::Matrix)
    return {0, samples * carries, onColumns, samples * links};
  // The first chunk is a single operation for all blocks.
  int64_t first = std::min(plan.getSize(), links);
  return {0, blocks * carries, blocks * onColumns, first + blocks * (links - first)};
}

/// Returns the expected counts with chunks in lanes: one operation processes all chunks but the
/// last.
static ScanCounts getCountsInLanes(PlanAttr plan, const ScanSchedule &schedule) {
  int64_t chunks = schedule.count(Sweep::Middle, ScanOperation::Kind::Apply);
  int64_t onColumns = schedule.count(Sweep::Up, ScanOperation::Kind::Compose) + chunks;
  int64_t links = schedule.getNumLinks(), ofEach = chunks ? onColumns / chunks : 0;
  return {0, chunks, ofEach, ofEach + links - onColumns};
}

TEST_P(ExpandScanTest, DoesWhatTheScheduleAndTheEvaluatorCount) {
  OwningOpRef<ModuleOp> module = parse(getPlan());
  ASSERT_TRUE(module);
  PlanAttr plan = getChain(*module).getPlan();
  std::vector<FailureOr<LinkChain>> chains;
  for (int64_t steps = 1; steps <= maxSteps; ++steps)
    chains.push_back(getLinkChain(getChain(*module), {steps, samples}));
  expand(*module);
  for (int64_t steps = 1; steps <= maxSteps; ++steps) {
    ScanSchedule schedule = *ScanSchedule::get(plan, steps, /*withInitial=*/true, getFirstChunk());
    // Each block of packed rows has a separate tree or separate chunks.
    int64_t blocks = has("packed") ? 2 : 1;
    ScanCounts expected = has("lanes") ? getCountsInLanes(plan, schedule)
                                       : getCounts(plan, schedule, blocks, getFirstChunk());
    ScanCounts found = run(*module, steps).counts;
    EXPECT_EQ(found.compositions, expected.compositions) << steps;
    EXPECT_EQ(found.applications, expected.applications) << steps;
    EXPECT_EQ(found.linksOnColumns, expected.linksOnColumns) << steps;
    EXPECT_EQ(found.linksOnOne, expected.linksOnOne) << steps;

    EvaluationOptions options;
    options.firstChunk = getFirstChunk();
    std::optional<PlanEvaluation> evaluation = evaluatePlan(*chains[steps - 1], plan, options);
    ASSERT_TRUE(evaluation);
    EXPECT_EQ(evaluation->composes, schedule.count(ScanOperation::Kind::Compose)) << steps;
    EXPECT_EQ(evaluation->applies, schedule.count(ScanOperation::Kind::Apply)) << steps;
    EXPECT_EQ(evaluation->depth, schedule.getDepth()) << steps;
  }
}

/// With n + 1 = 2^h elements (Wang, Bai, Pekhimenko, section 3.2), the up-sweep has n - 1 products,
/// of which h - 1 start at the seed and h - 1 are dead. The down-sweep has n products, of which h
/// are copies.
TEST_P(ExpandScanTest, DoesWhatThePaperCounts) {
  if (getPlan() != "blelloch")
    return;
  OwningOpRef<ModuleOp> module = parse(getPlan());
  expand(*module);
  int64_t blocks = has("packed") ? 2 : 1;
  for (int64_t height = 1; (1 << height) - 1 <= maxSteps; ++height) {
    int64_t links = (1 << height) - 1;
    ScanCounts found = run(*module, links).counts;
    EXPECT_EQ(found.compositions, blocks * (links - 1 - 2 * (height - 1)));
    EXPECT_EQ(found.applications, blocks * (height - 1 + links - height));
  }
}

TEST_P(ExpandScanTest, GivesWhatTheChainGives) {
  OwningOpRef<ModuleOp> module = parse(getPlan()), chain = parse("");
  expand(*module);
  for (int64_t steps = 1; steps <= maxSteps; ++steps) {
    Outcome expected = run(*chain, steps), found = run(*module, steps);
    ASSERT_EQ(found.results.size(), expected.results.size());
    for (auto [a, b] : llvm::zip_equal(found.results, expected.results)) {
      ASSERT_EQ(a.shape, b.shape);
      for (auto [x, y] : llvm::zip_equal(a.reals, b.reals))
        EXPECT_NEAR(x, y, 1e-12) << steps;
    }
  }
}

/// Partial sums of 33 chunks of 16 samples exceed the memory limit, so each run has two chunks.
TEST(ExpandScanSumsTest, AddsUpPartsOfRuns) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  const char *text = R"(
    func.func @f(%a: tensor<?x?x3xf32>, %g: tensor<?x3xf32>, %x: tensor<?x?x2800xf32>)
        -> (tensor<?x3xf32>, tensor<3x2800xf32>, tensor<3xf32>) {
      %0:3 = bppsa.chain plan <chunked, 1> saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x3xf32>)
          factors(%x : tensor<?x?x2800xf32>) sum_with [0, -1]
          -> (tensor<?x3xf32>) sums(tensor<3x2800xf32>, tensor<3xf32>) {
      ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
        %d = arith.mulf %at, %gt : vector<3xf32>
        bppsa.yield %d, %d, %gt : vector<3xf32>, vector<3xf32>, vector<3xf32>
      }
      return %0#0, %0#1, %0#2 : tensor<?x3xf32>, tensor<3x2800xf32>, tensor<3xf32>
    })";
  OwningOpRef<ModuleOp> chain = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(chain);
  OwningOpRef<ModuleOp> module = chain->clone();
  PassManager pm(&context);
  pm.addNestedPass<func::FuncOp>(createInferStructure({/*batchAxis=*/0, /*loopsOnly=*/true}));
  pm.addPass(createExpandScan({/*unrollUpTo=*/0, /*factorLinks=*/false, /*wholeLevels=*/true}));
  ASSERT_TRUE(succeeded(pm.run(*module)));

  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Array> arguments;
  using Shape = std::vector<int64_t>;
  for (const Shape &shape : {Shape{33, 16, 3}, Shape{16, 3}, Shape{33, 16, 2800}}) {
    arguments.push_back(Array::makeZeros(shape));
    for (double &entry : arguments.back().reals)
      entry = uniform(random);
  }
  Interpreter interpreter(*module);
  FailureOr<std::vector<Array>> found = interpreter.call("f", arguments);
  FailureOr<std::vector<Array>> expected = Interpreter(*chain).call("f", arguments);
  ASSERT_TRUE(succeeded(found) && succeeded(expected));
  EXPECT_EQ(interpreter.counts.linksOnOne, 33 * 16);
  for (auto [a, b] : llvm::zip_equal(*found, *expected))
    for (auto [x, y] : llvm::zip_equal(a.reals, b.reals))
      EXPECT_NEAR(x, y, 1e-12);
  int64_t numParts = 0;
  module->walk(
      [&](bufferization::AllocTensorOp op) { numParts += op.getType().getDimSize(2) == 8403; });
  EXPECT_EQ(numParts, 1);
}

INSTANTIATE_TEST_SUITE_P(
    Plans, ExpandScanTest,
    testing::Combine(testing::Values("blelloch", "hybrid, 1", "hybrid, 2", "chunked, 1",
                                     "chunked, 2", "chunked, 5", "chunked, 40"),
                     testing::Values("", "reverse injected", "diagonal injected", "packed",
                                     "packed reverse injected", "factored reverse injected",
                                     "factored packed injected")));

// Like CPU programs for small batches.
INSTANTIATE_TEST_SUITE_P(ChunksInLanes, ExpandScanTest,
                         testing::Combine(testing::Values("chunked, 1", "chunked, 2", "chunked, 5",
                                                          "chunked, 40"),
                                          testing::Values("lanes", "lanes reverse injected",
                                                          "lanes diagonal injected")));

// Like GPU programs.
INSTANTIATE_TEST_SUITE_P(WholeLevels, ExpandScanTest,
                         testing::Combine(testing::Values("blelloch", "hybrid, 1", "hybrid, 2",
                                                          "chunked, 1", "chunked, 2", "chunked, 5",
                                                          "chunked, 40"),
                                          testing::Values("whole", "whole reverse injected",
                                                          "whole diagonal injected")));
