//===- DeviceCost.cpp - GPU cost of a backward pass -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/Machines/DeviceCost.h"
#include "bppsa/CostModel/Machines/DeviceShapes.h"

#include <algorithm>
#include <cmath>

using namespace bppsa::cost;

/// Schedulers of a multiprocessor; each issues one instruction per cycle.
static constexpr double kSchedulers = 4;

/// Multiprocessors of an H200. Target GPUs have 108 to 148, and times differ little near the best
/// length.
static constexpr double kLikelyMultiprocessors = 132;

/// With few blocks, the critical path is C steps and T / C carries; with many, column steps
/// dominate, independently of C, until blocks become few. The work of applying links is omitted
/// because it differs between the programs of a chain, whose chunk lengths must agree.
ChunkRule bppsa::cost::getChunkRule(const ChainCost &chain) {
  const StepCost &column = chain.of(Work::Column);
  double runs = chain.hasOffset ? 2 : 1;
  double cycles = column.cycles + runs * chain.of(Work::Walk).cycles;
  double busy = std::max(column.instructions * static_cast<double>(column.warps) / kSchedulers,
                         column.cycles / static_cast<double>(column.resident));
  double blocks = static_cast<double>(chain.columns) / column.columns;
  return {chain.of(Work::Carry).cycles / cycles, blocks * busy / (cycles * kLikelyMultiprocessors)};
}

std::optional<Plan> bppsa::cost::parsePlan(const std::string &text) {
  size_t colon = text.find(':');
  std::string name = text.substr(0, colon);
  int64_t size = 0;
  if (colon != std::string::npos) {
    std::string digits = text.substr(colon + 1);
    if (digits.empty() || digits.size() > 9 ||
        digits.find_first_not_of("0123456789") != std::string::npos)
      return std::nullopt;
    size = std::stoll(digits);
  }
  if (name.empty() || name == "linear" || (name == "hybrid" && size == 0))
    return Plan{Plan::Kind::Sequential, 0};
  if (name == "chunked" || name == "auto")
    return Plan{Plan::Kind::Chunked, size};
  if (name == "blelloch")
    return Plan{Plan::Kind::Tree, -1};
  if (name == "hybrid")
    return Plan{Plan::Kind::Tree, size};
  return std::nullopt;
}

namespace {
class PhaseList {
public:
  PhaseList(const ChainCost &chain, int64_t steps, int64_t samples)
      : chain(chain), count(steps), steps(static_cast<double>(steps)),
        samples(static_cast<double>(samples)) {}

  void addSequential() { add(Work::Walk, steps, samples, samples * steps * stepBytes()); }
  void addChunked(int64_t chunkLength);
  void addTree(int64_t maxLevels);

  std::vector<Phase> phases;

private:
  void add(Work work, double length, double blocks, double bytes, double launches = 1) {
    if (blocks > 0)
      phases.push_back({work, launches, length, blocks, bytes});
  }
  void addMaps(double runs, double length);

  double stepBytes() const { return static_cast<double>(chain.savedBytes + chain.emittedBytes); }
  double mapBytes() const {
    return 4.0 * static_cast<double>(chain.rows * (chain.columns + chain.hasOffset));
  }

  const ChainCost &chain;
  int64_t count;
  double steps, samples;
};
} // namespace

void PhaseList::addMaps(double runs, double length) {
  double all = samples * runs, saved = all * length * static_cast<double>(chain.savedBytes);
  double columns = all * static_cast<double>(chain.columns);
  add(Work::Column, length, std::ceil(columns / chain.of(Work::Column).columns),
      saved + all * mapBytes());
  if (chain.hasOffset)
    add(Work::Walk, length, all, saved);
}

void PhaseList::addChunked(int64_t chunkLength) {
  int64_t chosen = chunkLength > 0
                       ? chunkLength
                       : getChunkRule(chain).apply(count, static_cast<int64_t>(samples));
  int64_t length = std::min(chosen, count);
  double chunk = static_cast<double>(length), chunks = std::ceil(steps / chunk);
  addMaps(chunks - 1, chunk);
  add(Work::Carry, chunks - 1, samples, samples * (chunks - 1) * mapBytes());
  add(Work::Walk, chunk, samples * chunks, samples * steps * stepBytes());
}

void PhaseList::addTree(int64_t maxLevels) {
  addMaps(steps - 1, 1);
  int64_t levels = 0;
  while ((count >> (levels + 1)) > 0 && (maxLevels < 0 || levels < maxLevels))
    ++levels;
  // Pairs with a product; the first pair of the down-sweep has none.
  for (int64_t level = 0; level < levels; ++level) {
    int64_t half = int64_t(1) << level;
    double up = samples * static_cast<double>(count / (2 * half));
    double down = samples * static_cast<double>((count - half) / (2 * half));
    add(Work::Product, 1, up, 3 * up * mapBytes());
    add(Work::Carry, 1, down, down * mapBytes());
  }
  double roots = static_cast<double>((count >> levels) - 1);
  // One launch stores the seeds as vectors before the roots are processed.
  add(Work::Carry, roots, samples, samples * roots * mapBytes(), /*launches=*/2);
  add(Work::Walk, static_cast<double>(std::min(count, kStepsPerBlock)),
      samples * std::ceil(steps / static_cast<double>(kStepsPerBlock)),
      samples * steps * stepBytes());
}

std::vector<Phase> bppsa::cost::getPhases(const ChainCost &chain, Plan plan, int64_t steps,
                                          int64_t samples) {
  PhaseList list(chain, steps, samples);
  switch (plan.kind) {
  case Plan::Kind::Sequential:
    list.addSequential();
    break;
  case Plan::Kind::Chunked:
    list.addChunked(plan.size);
    break;
  case Plan::Kind::Tree:
    list.addTree(plan.size);
    break;
  }
  return std::move(list.phases);
}

DeviceConstants bppsa::cost::shippedH200() {
  DeviceConstants constants;
  constants.name = "H200 (data sheet and estimates, not measured)";
  constants.multiprocessors = 132;
  constants.bandwidth = 4.8e6;
  constants.launch = 1.5;
  // At 1.98 GHz.
  constants.cycle.fill(0.505);
  constants.issue.fill(0.505);
  return constants;
}

std::array<double, 3> bppsa::cost::getUnits(const Phase &phase, const StepCost &step,
                                            double multiprocessors) {
  double waves =
      std::max(1.0, phase.blocks / (multiprocessors * static_cast<double>(step.resident)));
  double warps = phase.blocks * static_cast<double>(step.warps);
  return {phase.steps * step.cycles * waves,
          phase.steps * step.instructions * warps / (multiprocessors * kSchedulers), phase.bytes};
}

double bppsa::cost::predictPhase(const Phase &phase, const StepCost &step,
                                 const DeviceConstants &constants, Bound *bound) {
  std::array<double, 3> units = getUnits(phase, step, constants.multiprocessors);
  auto work = static_cast<size_t>(phase.work);
  std::array<double, 3> times = {units[0] * constants.cycle[work] * 1e-3,
                                 units[1] * constants.issue[work] * 1e-3,
                                 units[2] / constants.bandwidth};
  auto longest = std::max_element(times.begin(), times.end());
  if (bound)
    *bound = static_cast<Bound>(longest - times.begin());
  return phase.launches * constants.launch + *longest;
}

double bppsa::cost::predict(const std::vector<ChainCost> &chains, Plan plan, int64_t steps,
                            int64_t samples, const DeviceConstants &constants) {
  double time = constants.rest + constants.restPerPosition * 1e-3 * static_cast<double>(steps) *
                                     static_cast<double>(samples);
  for (const ChainCost &chain : chains)
    for (const Phase &phase : getPhases(chain, plan, steps, samples))
      time += predictPhase(phase, chain.of(phase.work), constants);
  return time;
}
