//===- PipelineSearch.cpp - schedules under a memory limit ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/PipelineSearch.h"
#include "bppsa/Simulator/PipelineOrders.h"
#include "bppsa/Simulator/PipelineRules.h"
#include "bppsa/Simulator/VShape.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace bppsa::schedule;

namespace {
/// Keeps the shortest span; ties are broken by memory.
class Best {
public:
  explicit Best(const Pipeline &pipeline) : pipeline(pipeline) {}

  bool offer(std::optional<DeviceOrders> candidate) {
    if (!candidate)
      return false;
    PipelineResult result = evaluate(pipeline, *candidate).value();
    double ofCandidate = result.getPeakActivations(), tolerance = kTolerance * result.span;
    bool isEqual = std::abs(result.span - span) <= tolerance;
    if (isEqual ? ofCandidate >= peak - kTolerance : result.span > span)
      return false;
    span = result.span;
    peak = ofCandidate;
    orders = std::move(candidate);
    return true;
  }

  std::optional<DeviceOrders> take() { return std::move(orders); }

private:
  /// Tolerates rounding.
  static constexpr double kTolerance = 1e-9;

  const Pipeline &pipeline;
  double span = std::numeric_limits<double>::infinity(), peak = span;
  std::optional<DeviceOrders> orders;
};
} // namespace

/// Tolerance for rounding.
static DeferralRule getMaxDeferral(const Pipeline &pipeline) {
  StageCost cost = {};
  for (const StageCost &stage : pipeline.stages) {
    cost.forward = std::max(cost.forward, stage.forward);
    cost.backward = std::max(cost.backward, stage.backward);
    cost.weight = std::max(cost.weight, stage.weight);
    cost.hop = std::max(cost.hop, stage.hop);
  }
  double roundTrip = cost.forward + cost.backward + 2 * cost.hop, most = pipeline.microbatches;
  auto divide = [&](double time) {
    return std::max(1.0, std::min(most, time > 0 ? roundTrip / time : most));
  };
  return {divide(cost.forward), divide(cost.weight)};
}

DeviceOrders bppsa::schedule::searchDeferral(const Pipeline &pipeline, double limit) {
  constexpr int kSteps = 6, kRefinements = 4;
  DeferralRule most = getMaxDeferral(pipeline), center = kZeroBubbleH1;
  Best best(pipeline);
  auto offer = [&](DeferralRule rule) {
    if (best.offer(orderZeroBubble(pipeline, rule, limit)))
      center = rule;
  };
  offer(kZeroBubbleH1);
  double warmUpStep = (most.warmUp - 1) / kSteps, deferralStep = (most.deferral - 1) / kSteps;
  for (int i = 0; i <= kSteps; ++i)
    for (int j = 0; j <= kSteps; ++j)
      offer({1 + i * warmUpStep, 1 + j * deferralStep, 0.5});
  // Refine the grid around the best rule.
  double baseStep = 1;
  for (int refinement = 0; refinement < kRefinements; ++refinement) {
    warmUpStep /= 2;
    deferralStep /= 2;
    DeferralRule around = center;
    for (int i : {-1, 0, 1})
      for (int j : {-1, 0, 1})
        for (int k : {-1, 0, 1})
          offer({around.warmUp + i * warmUpStep, around.deferral + j * deferralStep,
                 around.base + k * baseStep});
    baseStep /= 2;
  }
  return *best.take();
}

/// Larger offsets use more memory than 1F1B.
static constexpr int32_t kMaxBlockOffset = 6;

std::optional<DeviceOrders> bppsa::schedule::searchVShape(const Pipeline &pipeline, double limit) {
  Best best(pipeline);
  using Forward = DispatchRule::Forward;
  for (Forward forward : {Forward::AfterBackward, Forward::BeforeBackward})
    for (double patience : {0.0, 0.25, 0.5, 0.75, 1.0})
      for (bool freeMemory : {false, true})
        best.offer(orderByRule(pipeline, {forward, patience, freeMemory}, limit));
  // All devices keep the same number of activations.
  for (int32_t both = 2; both <= kMaxBlockOffset; ++both)
    for (int32_t down = 1; down < both; ++down)
      for (int32_t up = 1; up < both; ++up) {
        std::optional<DeviceOrders> orders =
            orderByBlock(pipeline, {down, up, both - up, both - down});
        if (orders && evaluate(pipeline, *orders).value().getPeakActivations() <= limit)
          best.offer(std::move(orders));
      }
  return best.take();
}
