//===- PipelineSearch.cpp - pipeline schedules within a memory ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Schedule/PipelineSearch.h"
#include "bppsa/Schedule/PipelineOrders.h"
#include "bppsa/Schedule/PipelineRules.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace bppsa::schedule;

namespace {
/// Keeps the orders with the shortest span.
class Best {
public:
  explicit Best(const Pipeline &pipeline) : pipeline(pipeline) {}

  /// Whether `orders` are better than those before them.
  bool offer(std::optional<DeviceOrders> candidate) {
    if (!candidate)
      return false;
    double candidateSpan = evaluate(pipeline, *candidate)->span;
    if (candidateSpan >= span)
      return false;
    span = candidateSpan;
    orders = std::move(candidate);
    return true;
  }

  std::optional<DeviceOrders> take() { return std::move(orders); }

private:
  const Pipeline &pipeline;
  double span = std::numeric_limits<double>::infinity();
  std::optional<DeviceOrders> orders;
};
} // namespace

DeviceOrders bppsa::schedule::searchDeferral(const Pipeline &pipeline, double limit) {
  StageCost cost = {};
  for (const StageCost &stage : pipeline.stages) {
    cost.forward = std::max(cost.forward, stage.forward);
    cost.backward = std::max(cost.backward, stage.backward);
    cost.weight = std::max(cost.weight, stage.weight);
    cost.hop = std::max(cost.hop, stage.hop);
  }
  // How much later a microbatch comes back to a stage than to the next one. Forward operations
  // that fill this time, and gradients of parameters that do at the end, leave no bubble.
  double roundTrip = cost.forward + cost.backward + 2 * cost.hop;
  double most = pipeline.microbatches;
  double mostWarmUp = std::min(most, cost.forward > 0 ? roundTrip / cost.forward : most);
  double mostDeferral = std::min(most, cost.weight > 0 ? roundTrip / cost.weight : most);
  constexpr int kSteps = 12;
  Best best(pipeline);
  auto offer = [&](double warmUp, double deferral, double base) {
    return best.offer(orderZeroBubble(pipeline, {warmUp, deferral, base}, limit));
  };
  DeferralRule rule = kZeroBubbleH1;
  offer(rule.warmUp, rule.deferral, rule.base);
  for (int i = 0; i <= kSteps; ++i)
    for (int j = 0; j <= kSteps; ++j) {
      double warmUp = 1 + (mostWarmUp - 1) * i / kSteps,
             deferral = 1 + (mostDeferral - 1) * j / kSteps;
      if (offer(warmUp, deferral, 0.5))
        rule = {warmUp, deferral, 0.5};
    }
  for (double base : {0.0, 0.25, 0.75, 1.0, 1.5, 2.0})
    offer(rule.warmUp, rule.deferral, base);
  return *best.take();
}

std::optional<DeviceOrders> bppsa::schedule::searchVShape(const Pipeline &pipeline, double limit) {
  Best best(pipeline);
  using Forward = DispatchRule::Forward;
  for (Forward forward : {Forward::AfterBackward, Forward::BeforeBackward})
    for (double patience : {0.0, 0.25, 0.5, 0.75, 1.0})
      for (bool makeRoom : {false, true})
        best.offer(orderByRule(pipeline, {forward, patience, makeRoom}, limit));
  return best.take();
}
