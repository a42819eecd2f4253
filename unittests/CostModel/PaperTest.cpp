//===- PaperTest.cpp - pruned VGG-11 of the BPPSA paper -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// FLOPs of back-propagation through VGG-11 with 97 % of its weights pruned, on a 32 x 32 image
// (Figure 10 of the paper). The weights are not public, so the remaining weights, the active ReLUs
// and the maxima of windows are drawn from a seed. Expected values come from the published code on
// an untrained network with random input; they agree up to the effect of different zeros.
//
//===----------------------------------------------------------------------===//

#include "../Dialect/Jacobian/Sparsity/Layers.h"
#include "bppsa/CostModel/PlanEvaluation.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "gtest/gtest.h"
#include <random>

using namespace bppsa;
using namespace bppsa::test;

namespace {
enum class Zeros {
  Guaranteed, ///< only zeros that hold for every input
  OfASample,  ///< also zeros of inactive ReLUs and of non-maximal elements
};

class VGG11 : public ::testing::Test {
protected:
  void SetUp() override { context.loadDialect<BPPSADialect>(); }

  LinkChain makeChain(Zeros zeros);
  PlanEvaluation evaluate(const LinkChain &chain, int64_t levels, int64_t stepOverhead = 0);

  mlir::MLIRContext context;

private:
  bool isKept() { return random() % 100 < 3; }
  SparsityPattern getPrunedConv(const Convolution &layer);
  SparsityPattern getMask(int64_t size);
  SparsityPattern getLargest(int64_t channels, int64_t size);

  std::mt19937_64 random;
};
} // namespace

SparsityPattern VGG11::getPrunedConv(const Convolution &layer) {
  Window window{layer.size, 3, 1, 1, 1, 1};
  Layer conv = makeConv(&context, 1, layer.in, layer.out, window, window);
  std::vector<bool> kept(layer.in * layer.out * 9);
  for (size_t i = 0; i < kept.size(); ++i)
    kept[i] = isKept();
  std::optional<SharedValues> values =
      getPrunedValues(conv.nest, conv.operand, conv.result, conv.factor,
                      [&](int64_t element) { return kept[element]; });
  return values->pattern.selectRows(getInner(layer.in, window, window));
}

/// Half of the ReLUs are active.
SparsityPattern VGG11::getMask(int64_t size) {
  std::vector<int32_t> columns(size);
  for (int64_t i = 0; i < size; ++i)
    columns[i] = random() % 2 ? i : -1;
  return SparsityPattern::getSelection(columns, size);
}

/// One element of each 2 x 2 window.
SparsityPattern VGG11::getLargest(int64_t channels, int64_t size) {
  std::vector<int32_t> columns(channels * size * size, -1);
  for (int64_t c = 0, half = size / 2; c < channels; ++c)
    for (int64_t y = 0; y < half; ++y)
      for (int64_t x = 0; x < half; ++x) {
        uint64_t winner = random() % 4;
        columns[(c * size + 2 * y + winner / 2) * size + 2 * x + winner % 2] =
            (c * half + y) * half + x;
      }
  return SparsityPattern::getSelection(columns, channels * size * size / 4);
}

LinkChain VGG11::makeChain(Zeros zeros) {
  random.seed(4202);
  LinkChain chain;
  chain.sparseCotangents = zeros == Zeros::OfASample;
  auto add = [&](const SparsityPattern &pattern, bool shared) {
    chain.links.push_back(MatrixStructure(jacobian::StructureAttr::fromPattern(&context, pattern),
                                          pattern.getNumRows(), pattern.getNumCols(), shared));
  };
  add(SparsityPattern::getDense(512, 10).prune([&](int64_t) { return isKept(); }),
      /*shared=*/true);
  for (const Convolution &layer : llvm::reverse(vgg11)) {
    int64_t size = layer.out * layer.size * layer.size;
    if (layer.isPooled)
      add(zeros == Zeros::OfASample ? getLargest(layer.out, layer.size)
                                    : getPool2(&context, layer.out, layer.size),
          /*shared=*/false);
    add(zeros == Zeros::OfASample ? getMask(size) : SparsityPattern::getIdentity(size),
        /*shared=*/false);
    add(getPrunedConv(layer), /*shared=*/true);
  }
  return chain;
}

PlanEvaluation VGG11::evaluate(const LinkChain &chain, int64_t levels, int64_t stepOverhead) {
  EvaluationOptions options;
  options.workers = {1000000};
  options.stepOverhead = stepOverhead;
  return *evaluatePlan(chain, PlanAttr::get(&context, ScanAlgorithm::Hybrid, levels), options);
}

/// Counts of the published code for hybrid scans of L levels on an untrained, magnitude-pruned
/// network. It also forms unused products with the last element, so it counts up to a fifth more.
TEST_F(VGG11, FlopsOfEveryLevel) {
  struct {
    int64_t steps;
    double flops, criticalPath, largest;
  } expected[] = {{21, 1.87e6, 1.87e6, 4.6e5},
                  {12, 6.5e6, 3.0e6, 9.5e5},
                  {8, 5.2e7, 3.1e7, 2.0e7},
                  {7, 3.1e8, 2.9e8, 2.4e8}};
  LinkChain chain = makeChain(Zeros::OfASample);
  EXPECT_EQ(findMismatch(chain), 0);
  for (auto [levels, counts] : llvm::enumerate(expected)) {
    PlanEvaluation plan = evaluate(chain, levels);
    EXPECT_EQ(plan.steps, counts.steps);
    EXPECT_NEAR(plan.flops, counts.flops, 0.2 * counts.flops);
    EXPECT_NEAR(plan.criticalPathFlops, counts.criticalPath, 0.2 * counts.criticalPath);
    EXPECT_NEAR(plan.maxFlops, counts.largest, 0.2 * counts.largest);
  }
}

/// Two levels, the paper's choice, are the maximum whose critical path is shorter than that of
/// dense back-propagation, 2.29e8 (unittests/Dialect/Jacobian/Sparsity). They are also the fastest
/// if a step costs a kernel launch: 5 us at 6 TFLOP/s. By FLOPs only, every level is slower than
/// the sequential sparse plan.
TEST_F(VGG11, TwoLevelsAreThePapersChoice) {
  constexpr double dense = 2.29e8;
  constexpr int64_t launch = 30'000'000;
  LinkChain chain = makeChain(Zeros::OfASample);
  std::vector<int64_t> criticalPaths, makespans;
  for (int64_t levels = 0; levels <= 3; ++levels) {
    PlanEvaluation plan = evaluate(chain, levels, launch);
    criticalPaths.push_back(plan.criticalPathFlops);
    makespans.push_back(plan.makespans.front().flops);
  }
  EXPECT_LT(criticalPaths[2], dense);
  EXPECT_GT(criticalPaths[3], dense);
  EXPECT_EQ(llvm::min_element(makespans) - makespans.begin(), 2);
  EXPECT_TRUE(llvm::is_sorted(criticalPaths));
}

/// With guaranteed zeros only, as in a compiler, the order is the same.
TEST_F(VGG11, GuaranteedZerosGiveTheSameChoice) {
  LinkChain chain = makeChain(Zeros::Guaranteed);
  // 2 nnz of a chain with 3 % of the 1.14e8 dense entries, and of ReLUs and pools.
  EXPECT_NEAR(evaluate(chain, 0).flops, 7.2e6, 0.05 * 7.2e6);
  PlanEvaluation two = evaluate(chain, 2);
  EXPECT_LT(two.criticalPathFlops, 2.29e8);
  EXPECT_LT(two.spanFlops, two.criticalPathFlops);
}
