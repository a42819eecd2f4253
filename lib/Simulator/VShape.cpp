//===- VShape.cpp - schedules with two stages per device ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/VShape.h"
#include <algorithm>
#include <array>
#include <deque>
#include <map>

using namespace bppsa::schedule;

/// The time units of F, B and W of two stages.
static constexpr int64_t kPeriod = 6;

namespace {
/// Time between the first microbatch's operations at the three turning points.
using Turns = std::array<int64_t, 3>;

/// Times of the first microbatch: forward down and up, backward down and up.
using Times = std::array<int64_t, 4>;
} // namespace

static Times getTimes(BuildingBlock block, Turns turns, int32_t devices, int32_t device) {
  int64_t last = devices - 1, rest = last - device;
  int64_t forwardUp = block.forwardDown * last + turns[0];
  int64_t backwardDown = forwardUp + block.forwardUp * last + turns[1];
  int64_t backwardUp = backwardDown + block.backwardDown * last + turns[2];
  return {int64_t(block.forwardDown) * device, forwardUp + block.forwardUp * rest,
          backwardDown + block.backwardDown * device, backwardUp + block.backwardUp * rest};
}

/// Returns true if no two operations of a device overlap.
static bool isFree(BuildingBlock block, Turns turns, int32_t devices) {
  for (int32_t device = 0; device < devices; ++device) {
    Times times = getTimes(block, turns, devices, device);
    for (int64_t &time : times)
      time %= kPeriod;
    std::sort(times.begin(), times.end());
    if (std::adjacent_find(times.begin(), times.end()) != times.end())
      return false;
  }
  return true;
}

static std::optional<Turns> findTurns(BuildingBlock block, int32_t devices) {
  std::optional<Turns> best;
  int64_t least = 4 * kPeriod;
  for (int64_t top = 1; top <= kPeriod; ++top)
    for (int64_t loss = 1; loss <= kPeriod; ++loss)
      for (int64_t back = 1; back <= kPeriod; ++back)
        if (top + loss + back < least && isFree(block, {top, loss, back}, devices)) {
          best = Turns{top, loss, back};
          least = top + loss + back;
        }
  return best;
}

/// Fills gaps in `ops`, keyed by time, with parameter gradients.
static std::vector<PipelineOp> fillWithWeights(const std::map<int64_t, PipelineOp> &ops) {
  std::vector<PipelineOp> list;
  std::deque<PipelineOp> pending;
  int64_t time = 0;
  auto addWeight = [&] {
    list.push_back(pending.front());
    pending.pop_front();
  };
  for (const auto &[next, op] : ops) {
    for (; time < next && !pending.empty(); ++time)
      addWeight();
    list.push_back(op);
    time = next + 1;
    if (op.kind == OpKind::B)
      pending.push_back({OpKind::W, op.stage, op.microbatch});
  }
  while (!pending.empty())
    addWeight();
  return list;
}

std::optional<DeviceOrders> bppsa::schedule::orderByBlock(const Pipeline &pipeline,
                                                          BuildingBlock block) {
  std::optional<Turns> turns = findTurns(block, pipeline.devices);
  if (!turns)
    return std::nullopt;
  DeviceOrders orders;
  for (int32_t device = 0; device < pipeline.devices; ++device) {
    Times times = getTimes(block, *turns, pipeline.devices, device);
    int32_t up = 2 * pipeline.devices - 1 - device;
    std::map<int64_t, PipelineOp> ops;
    for (int32_t microbatch = 0; microbatch < pipeline.microbatches; ++microbatch) {
      int64_t shift = kPeriod * microbatch;
      ops[times[0] + shift] = {OpKind::F, device, microbatch};
      ops[times[1] + shift] = {OpKind::F, up, microbatch};
      ops[times[2] + shift] = {OpKind::B, up, microbatch};
      ops[times[3] + shift] = {OpKind::B, device, microbatch};
    }
    orders.push_back(fillWithWeights(ops));
  }
  return orders;
}
