//===- PipelineOrders.cpp - pipeline schedules in closed form -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/PipelineOrders.h"
#include <algorithm>
#include <cmath>

using namespace bppsa::schedule;

DeviceOrders bppsa::schedule::orderGPipe(const Pipeline &pipeline) {
  DeviceOrders orders(pipeline.devices);
  for (int32_t microbatch = 0; microbatch < pipeline.microbatches; ++microbatch)
    for (int32_t stage = 0; stage < pipeline.getNumStages(); ++stage)
      orders[pipeline.placement[stage]].push_back({OpKind::F, stage, microbatch});
  for (int32_t microbatch = 0; microbatch < pipeline.microbatches; ++microbatch)
    for (int32_t stage = pipeline.getNumStages(); stage-- > 0;)
      orders[pipeline.placement[stage]].push_back({OpKind::BW, stage, microbatch});
  return orders;
}

/// Calls `order` for the only stage of each device.
template <typename Order> static DeviceOrders orderStages(const Pipeline &pipeline, Order order) {
  DeviceOrders orders(pipeline.devices);
  for (int32_t stage = 0; stage < pipeline.getNumStages(); ++stage)
    order(stage, orders[pipeline.placement[stage]]);
  return orders;
}

DeviceOrders bppsa::schedule::orderOneForwardOneBackward(const Pipeline &pipeline) {
  return orderStages(pipeline, [&](int32_t stage, std::vector<PipelineOp> &ops) {
    int32_t all = pipeline.microbatches, forward = 0;
    auto addForward = [&] { ops.push_back({OpKind::F, stage, forward++}); };
    while (forward < std::min(all, pipeline.getNumStages() - 1 - stage))
      addForward();
    for (int32_t microbatch = 0; microbatch < all; ++microbatch) {
      if (forward < all)
        addForward();
      ops.push_back({OpKind::BW, stage, microbatch});
    }
  });
}

namespace {
class DeferredStage {
public:
  DeferredStage(const Pipeline &pipeline, int32_t stage, DeferralRule rule, double limit)
      : stage(stage), all(pipeline.microbatches), later(pipeline.deferredMemory), limit(limit),
        warmUp(
            std::min<int64_t>(all, roundUp(rule.warmUp * (pipeline.getNumStages() - 1 - stage)))),
        deferral(std::max<int64_t>(0, roundDown(rule.deferral * stage + rule.base))) {}

  std::vector<PipelineOp> list() {
    // Reserve memory for the microbatch that follows the warm-up.
    while (numForward < warmUp && held + 2 <= limit + kTolerance)
      addForward();
    for (int32_t microbatch = 0; microbatch < all; ++microbatch) {
      if (numForward < all) {
        while (!hasRoom() && numWeight < microbatch)
          addWeight();
        if (hasRoom())
          addForward();
      }
      ops.push_back({OpKind::B, stage, microbatch});
      held -= 1 - later;
      while (microbatch + 1 - numWeight > deferral)
        addWeight();
    }
    while (numWeight < all)
      addWeight();
    return std::move(ops);
  }

private:
  /// Tolerance for rounding.
  static constexpr double kTolerance = 1e-9;
  static int64_t roundUp(double value) { return std::ceil(value - kTolerance); }
  static int64_t roundDown(double value) { return std::floor(value + kTolerance); }

  bool hasRoom() const { return held + 1 <= limit + kTolerance; }

  void addForward() {
    ops.push_back({OpKind::F, stage, numForward++});
    held += 1;
  }

  void addWeight() {
    ops.push_back({OpKind::W, stage, numWeight++});
    held -= later;
  }

  int32_t stage, all;
  double later, limit;
  int64_t warmUp, deferral;
  std::vector<PipelineOp> ops;
  int32_t numForward = 0, numWeight = 0;
  double held = 0;
};
} // namespace

DeviceOrders bppsa::schedule::orderZeroBubble(const Pipeline &pipeline, DeferralRule rule,
                                              double limit) {
  return orderStages(pipeline, [&](int32_t stage, std::vector<PipelineOp> &ops) {
    ops = DeferredStage(pipeline, stage, rule, limit).list();
  });
}

std::vector<size_t> bppsa::schedule::countLeadingForward(const DeviceOrders &orders,
                                                         const std::vector<int32_t> &placement) {
  std::vector<size_t> counts;
  for (const std::vector<PipelineOp> &ops : orders)
    counts.push_back(
        std::find_if(ops.begin(), ops.end(), [](PipelineOp op) { return op.kind != OpKind::F; }) -
        ops.begin());
  auto isAmong = [&](int32_t stage, int32_t microbatch) {
    const std::vector<PipelineOp> &ops = orders[placement[stage]];
    auto end = ops.begin() + static_cast<std::ptrdiff_t>(counts[placement[stage]]);
    return std::any_of(ops.begin(), end, [&](PipelineOp op) {
      return op.stage == stage && op.microbatch == microbatch;
    });
  };
  auto hasAll = [&](PipelineOp op) {
    for (int32_t stage = 0; stage < op.stage; ++stage)
      if (!isAmong(stage, op.microbatch))
        return false;
    return true;
  };
  // Excluding an operation may exclude dependent ones: iterate to a fixed point.
  for (bool hasChanged = true; hasChanged;) {
    hasChanged = false;
    for (size_t device = 0; device < orders.size(); ++device)
      for (size_t i = 0; i < counts[device]; ++i)
        if (!hasAll(orders[device][i])) {
          counts[device] = i;
          hasChanged = true;
        }
  }
  return counts;
}
