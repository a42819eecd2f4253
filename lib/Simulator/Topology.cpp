//===- Topology.cpp - devices with unequal links --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/Topology.h"
#include <algorithm>
#include <numeric>
#include <utility>

using namespace bppsa::schedule;

namespace {
class HopCosts {
public:
  HopCosts(const Pipeline &pipeline, const Links &links)
      : links(links), counts(pipeline.devices, std::vector<int32_t>(pipeline.devices, 0)) {
    for (int32_t stage = 0; stage + 1 < pipeline.getNumStages(); ++stage)
      ++counts[pipeline.placement[stage]][pipeline.placement[stage + 1]];
  }

  double get(const std::vector<int32_t> &order) const {
    double sum = 0;
    for (size_t from = 0; from < counts.size(); ++from)
      for (size_t to = 0; to < counts.size(); ++to)
        if (from != to && counts[from][to] > 0)
          sum += counts[from][to] * links[order[from]][order[to]];
    return sum;
  }

private:
  const Links &links;
  /// Counts transitions between adjacent stages, by device positions.
  std::vector<std::vector<int32_t>> counts;
};
} // namespace

static void tryAll(const HopCosts &costs, std::vector<int32_t> &best) {
  std::vector<int32_t> order = best;
  double least = costs.get(order);
  while (std::next_permutation(order.begin(), order.end()))
    if (double cost = costs.get(order); cost < least) {
      least = cost;
      best = order;
    }
}

static void exchangeDevices(const HopCosts &costs, std::vector<int32_t> &order) {
  double least = costs.get(order);
  for (bool isBetter = true; std::exchange(isBetter, false);)
    for (size_t first = 0; first < order.size(); ++first)
      for (size_t second = first + 1; second < order.size(); ++second) {
        std::swap(order[first], order[second]);
        double cost = costs.get(order);
        if (cost < least) {
          least = cost;
          isBetter = true;
        } else {
          std::swap(order[first], order[second]);
        }
      }
}

std::vector<int32_t> bppsa::schedule::findDeviceOrder(const Pipeline &pipeline,
                                                      const Links &links) {
  std::vector<int32_t> order(pipeline.devices);
  std::iota(order.begin(), order.end(), 0);
  HopCosts costs(pipeline, links);
  if (pipeline.devices <= kMaxTried)
    tryAll(costs, order);
  else
    exchangeDevices(costs, order);
  return order;
}

void bppsa::schedule::setHops(Pipeline &pipeline, const Links &links,
                              const std::vector<int32_t> &order) {
  for (int32_t stage = 0; stage + 1 < pipeline.getNumStages(); ++stage)
    pipeline.stages[stage].hop =
        links[order[pipeline.placement[stage]]][order[pipeline.placement[stage + 1]]];
}
