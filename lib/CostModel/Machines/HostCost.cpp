//===- HostCost.cpp - CPU cost of a backward pass -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/Machines/HostCost.h"
#include "bppsa/CostModel/Machines/ChunkRule.h"
#include "bppsa/CostModel/Machines/DeviceShapes.h"
#include "bppsa/CostModel/Machines/HostCaches.h"

#include <algorithm>
#include <cmath>

using namespace bppsa::cost;

/// Samples in the lanes of a vector; one thread processes such a group.
static constexpr int64_t kSamplesOfGroup = 16;
/// Per core: maximum vector operations per cycle, maximum latency in cycles, and minimum bytes per
/// cycle.
static constexpr double kMaxIssued = 2, kMaxLatency = 5, kMinBytes = 4;

int64_t bppsa::cost::getNumGroups(int64_t samples) {
  return (samples + kSamplesOfGroup - 1) / kSamplesOfGroup;
}

namespace {
class PlanCycles {
public:
  PlanCycles(const HostChain &chain, int64_t steps, int64_t samples, HostMachine machine)
      : chain(chain), count(steps), steps(static_cast<double>(steps)),
        samples(static_cast<double>(samples)), lanes(static_cast<double>(machine.lanes)),
        groups(static_cast<double>(getNumGroups(samples))),
        threads(static_cast<double>(machine.threads)),
        issue(static_cast<double>(kSamplesOfGroup) / static_cast<double>(machine.lanes) /
              kMaxIssued) {}

  double ofSequential() const { return std::ceil(groups / threads) * steps * link(); }
  double ofChunked(double length) const;
  double ofTree(int64_t maxLevels) const;
  double overUnits() const { return std::ceil(samples / threads) * steps * unitLink(); }
  double ofChunksInLanes(double length) const;

private:
  double link() const {
    return static_cast<double>(chain.linkOperations) * issue +
           static_cast<double>(chain.depth) * kMaxLatency +
           static_cast<double>(chain.bytes * kSamplesOfGroup) / kMinBytes;
  }
  /// The last register of a vector operation may be partly empty.
  double unitLink() const {
    double operations = static_cast<double>(chain.linkOperations) / lanes +
                        static_cast<double>(chain.unitOperations);
    return operations / kMaxIssued + static_cast<double>(chain.unitDepth) * kMaxLatency +
           static_cast<double>(chain.bytes) / kMinBytes;
  }
  double numColumns() const { return static_cast<double>(chain.columns + chain.hasOffset); }
  double map() const { return numColumns() * static_cast<double>(chain.columnOperations) * issue; }
  double apply() const { return static_cast<double>(chain.rows) * numColumns() * issue; }
  double compose() const { return static_cast<double>(chain.columns) * apply(); }

  const HostChain &chain;
  int64_t count;
  double steps, samples, lanes, groups, threads, issue;
};
} // namespace

double PlanCycles::ofChunked(double length) const {
  length = std::min(length, steps);
  double rest = steps - length, turns = std::ceil(groups / threads);
  // The cotangent that enters the first chunk is known, and the transition of the last is not
  // needed.
  double carried = std::max(std::ceil(steps / length) - 2, 0.0);
  double first = turns * length * link();
  double others = std::max(groups * rest / threads, std::min(length, rest)) * link();
  return first + groups * carried * length * map() / threads + turns * carried * apply() + others;
}

double PlanCycles::ofChunksInLanes(double length) const {
  length = std::min(length, steps);
  // The last chunk is not in lanes.
  double chunks = std::floor((steps - 1) / length), rest = steps - chunks * length;
  double rows = std::ceil(samples * chunks / kSamplesOfGroup);
  double operations = static_cast<double>(chain.linkOperations);
  double inLanes = rows * length * (map() + operations * issue) / threads;
  double carries =
      samples * chunks * static_cast<double>(chain.rows) * numColumns() / lanes / kMaxIssued;
  return inLanes + (carries + samples * rest * operations / lanes / kMaxIssued) / threads;
}

double PlanCycles::ofTree(int64_t maxLevels) const {
  // Links may be formed as matrices, so count at least one write per entry.
  double work = (steps - 1) * apply();
  int64_t levels = 0;
  for (; (count >> (levels + 1)) > 0 && (maxLevels < 0 || levels < maxLevels); ++levels) {
    int64_t half = int64_t(1) << levels, products = (count - half) / (2 * half) + 1;
    // In the up-sweep, the first operand is a vector, and the last result may be unused.
    work += static_cast<double>(std::max<int64_t>(products - 2, 0)) * compose() +
            static_cast<double>(products - 1) * apply();
  }
  double roots = static_cast<double>((count >> levels) - 1) * apply();
  return groups * (work / threads + roots + std::ceil(steps / threads) * link());
}

static double sumCycles(const std::vector<HostChain> &chains, int64_t steps, int64_t samples,
                        HostMachine machine, double (PlanCycles::*count)() const) {
  double cycles = 0;
  for (const HostChain &chain : chains)
    cycles += (PlanCycles(chain, steps, samples, machine).*count)();
  return cycles;
}

double bppsa::cost::getMaxSequentialCycles(const std::vector<HostChain> &chains, int64_t steps,
                                           int64_t samples, HostMachine machine) {
  return sumCycles(chains, steps, samples, machine, &PlanCycles::ofSequential);
}

double bppsa::cost::getMaxUnitCycles(const std::vector<HostChain> &chains, int64_t steps,
                                     int64_t samples, HostMachine machine) {
  return sumCycles(chains, steps, samples, machine, &PlanCycles::overUnits);
}

bool bppsa::cost::sharesMatricesAcrossSamples(const std::vector<HostChain> &chains,
                                              HostMachine machine) {
  // Same rule as in bppsa-choose-task-mapping, where each operation on a matrix takes one element.
  constexpr int64_t cacheElements = kFirstLevelCacheBytes / 4, minUsefulLanes = 8;
  return machine.lanes >= minUsefulLanes &&
         std::any_of(chains.begin(), chains.end(),
                     [](const HostChain &chain) { return chain.linkOperations > cacheElements; });
}

static double getChunkLength(Plan plan, int64_t steps, int64_t samples) {
  return static_cast<double>(plan.size > 0 ? plan.size : kCpuChunkRule.apply(steps, samples));
}

double bppsa::cost::getMinChunkCycles(const std::vector<HostChain> &chains, Plan plan,
                                      int64_t steps, int64_t samples, HostMachine machine) {
  double cycles = 0;
  for (const HostChain &chain : chains)
    cycles += PlanCycles(chain, steps, samples, machine)
                  .ofChunksInLanes(getChunkLength(plan, steps, samples));
  return cycles;
}

bool bppsa::cost::canChunkedScanWin(const std::vector<HostChain> &chains) {
  constexpr int64_t longSequence = 4096;
  HostMachine machine;
  Plan plan = {Plan::Kind::Chunked};
  double most = std::min(getMaxSequentialCycles(chains, longSequence, 1, machine),
                         getMaxUnitCycles(chains, longSequence, 1, machine));
  return getMinChunkCycles(chains, plan, longSequence, 1, machine) < most;
}

double bppsa::cost::getMinCycles(const std::vector<HostChain> &chains, Plan plan, int64_t steps,
                                 int64_t samples, HostMachine machine) {
  double cycles = 0;
  for (const HostChain &chain : chains) {
    PlanCycles ofChain(chain, steps, samples, machine);
    switch (plan.kind) {
    case Plan::Kind::Sequential:
      cycles += ofChain.ofSequential();
      break;
    case Plan::Kind::Chunked:
      cycles += ofChain.ofChunked(getChunkLength(plan, steps, samples));
      break;
    case Plan::Kind::Tree:
      cycles += ofChain.ofTree(plan.size);
      break;
    }
  }
  return cycles;
}
