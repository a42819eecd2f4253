//===- GradientExchangeTest.cpp - Sums of gradients over ranks ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Distributed/GradientExchange.h"
#include "MemoryNetwork.h"
#include "gtest/gtest.h"

#include <nlohmann/json.hpp>
#include <random>

using namespace bppsa::runtime;
using Kind = ExchangeOptions::Kind;

namespace {
/// Parameters with gaps between them, and their read order.
const std::vector<FlatRange> parameters = {{0, 7}, {16, 1}, {32, 40}, {80, 0}, {80, 19}};
const std::vector<size_t> order = {2, 4, 0, 3, 1};
constexpr int64_t flatSize = 112;
constexpr int steps = 4;
} // namespace

/// Returns the gradient of a rank in a step.
static std::vector<float> gradientOf(int rank, int step) {
  std::mt19937 random(100 * rank + step);
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<float> gradient(flatSize);
  for (float &value : gradient)
    value = values(random);
  return gradient;
}

static double weightOf(int rank) { return rank == 1 ? 0 : 1.5 + rank; }

/// Returns the sum of the contributions of `ranks` ranks in rank order.
static std::vector<float> sumOf(int ranks, int step) {
  std::vector<double> sums(flatSize);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<float> gradient = gradientOf(rank, step);
    for (int64_t i = 0; i < flatSize; ++i)
      sums[i] += static_cast<float>(gradient[i] * weightOf(rank));
  }
  return {sums.begin(), sums.end()};
}

static void expectSum(const float *gradients, const FlatRange &range, int ranks, int step) {
  std::vector<float> expected = sumOf(ranks, step);
  for (int64_t i = range.start; i < range.start + range.size; ++i)
    EXPECT_EQ(gradients[i], expected[i]) << "element " << i << " of step " << step;
}

/// Runs steps that overlap with the exchange. A gradient is overwritten once the previous sum has
/// been read, and contributed once it is written, in reverse read order.
static void runSteps(Ranks &ranks, ExchangeOptions options) {
  std::vector<float> gradients(flatSize);
  GradientExchange exchange(ranks, gradients.data(), parameters, order, options);
  auto take = [&](size_t number, int step) {
    exchange.take(number);
    expectSum(gradients.data(), parameters[number], ranks.count(), step);
  };
  for (int step = 0; step < steps; ++step) {
    for (size_t number : order)
      if (step > 0)
        take(number, step - 1);
    std::vector<float> gradient = gradientOf(ranks.rank(), step);
    for (size_t use = order.size(); use-- > 0;) {
      const FlatRange &range = parameters[order[use]];
      std::copy_n(gradient.begin() + range.start, range.size, gradients.begin() + range.start);
      exchange.give(order[use], weightOf(ranks.rank()));
    }
  }
  for (size_t number : order)
    take(number, steps - 1);
}

namespace {
class GradientExchangeTest : public testing::TestWithParam<std::tuple<Kind, int64_t, int>> {};
} // namespace

TEST_P(GradientExchangeTest, SumsHaveTheBitsOfTheOrderOfRanks) {
  auto [kind, slice, count] = GetParam();
  ExchangeOptions options{kind, slice};
  memory::onRanks(count, {}, [&](Ranks &ranks) { runSteps(ranks, options); });
}

TEST_P(GradientExchangeTest, SumsOfSlowNetworksAreThoseOfFastOnes) {
  auto [kind, slice, count] = GetParam();
  ExchangeOptions options{kind, slice};
  memory::onRanks(count, {1e6, 1e-4}, [&](Ranks &ranks) { runSteps(ranks, options); });
}

INSTANTIATE_TEST_SUITE_P(All, GradientExchangeTest,
                         testing::Combine(testing::Values(Kind::Barrier, Kind::AllReduce, Kind::P3,
                                                          Kind::DeAR),
                                          testing::Values(3, 50000), testing::Values(2, 3, 5)));

/// Returns the read order of the parameter whose slice is sent in message `name`, if each parameter
/// has one slice.
static int64_t useOf(const std::string &name) {
  size_t slice = std::stoul(name.substr(name.find(' ') + 1));
  // The empty parameter has no slice.
  return std::vector<int64_t>{2, 4, 0, 1}.at(slice);
}

static std::map<std::string, int64_t> prioritiesOf(Kind kind) {
  std::map<std::string, int64_t> priorities;
  memory::onRanks(2, {}, [&](Ranks &ranks) {
    runSteps(ranks, {kind, 50000});
    ranks.loop().drain();
    if (ranks.rank() != 0)
      return;
    for (const nlohmann::json &event : nlohmann::json::parse("[" + ranks.trace().toJson(0) + "]"))
      if (event.at("ph") == "X" && event.contains("args"))
        priorities[event.at("name").get<std::string>()] =
            event.at("args").at("priority").get<int64_t>();
  });
  return priorities;
}

TEST(GradientExchange, PrioritiesAreThoseOfFirstUse) {
  for (const auto &[name, priority] : prioritiesOf(Kind::P3))
    EXPECT_EQ(priority, useOf(name)) << name;
  for (const auto &[name, priority] : prioritiesOf(Kind::DeAR))
    EXPECT_EQ(priority, name[0] == 'p' ? 0 : useOf(name)) << name;
  for (const auto &[name, priority] : prioritiesOf(Kind::AllReduce))
    EXPECT_EQ(priority, 0) << name;
}
