//===- PlanEvaluation.cpp - cost of a scan plan ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "PlanEvaluator.h"
#include <functional>
#include <queue>

using namespace bppsa;

using GroupKind = LevelCost::Group::Kind;
using Phase = LevelCost::Phase;

int64_t bppsa::findMismatch(const LinkChain &chain) {
  for (size_t k = 1; k < chain.links.size(); ++k)
    if (chain.links[k].getCols() != chain.links[k - 1].getRows())
      return k + 1;
  return 0;
}

int64_t LevelCost::count(GroupKind kind) const {
  int64_t number = 0;
  for (const Group &group : groups)
    if (group.kind == kind)
      number += group.count;
  return number;
}

int64_t bppsa::getMakespan(std::vector<std::pair<int64_t, int64_t>> tasks, int64_t workers) {
  llvm::sort(tasks, std::greater<>());
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> loads;
  for (int64_t worker = 0; worker < workers; ++worker)
    loads.push(0);
  // Work of every worker in addition to its load.
  int64_t common = 0, most = 0;
  for (auto [flops, count] : tasks)
    while (count > 0 && flops > 0) {
      if (count >= workers && most - loads.top() <= flops) {
        common += flops * (count / workers);
        count %= workers;
        continue;
      }
      int64_t load = loads.top() + flops;
      loads.pop();
      loads.push(load);
      most = std::max(most, load);
      --count;
    }
  return common + most;
}

PlanEvaluator::PlanEvaluator(const LinkChain &chain, const ScanSchedule &schedule, bool storesLinks,
                             const EvaluationOptions &options)
    : chain(chain), schedule(schedule), storesLinks(storesLinks), options(options),
      values(schedule.getNumValues()), isEmittedByProduct(schedule.getNumLinks() + 1, false) {
  for (auto [index, value] : llvm::enumerate(values))
    value.storage = index;
  values[0].structure = getCotangent(chain.links.front().getCols());
  for (auto [index, link] : llvm::enumerate(chain.links)) {
    values[index + 1].structure = link;
    values[index + 1].isRegion = chain.region && !storesLinks;
  }
  for (int64_t workers : options.workers)
    result.makespans.push_back({workers, 0});
}

void PlanEvaluator::beginLevel(Phase phase) {
  level = LevelCost();
  level.phase = phase;
  tasks.clear();
}

void PlanEvaluator::add(const Cost &cost) {
  auto getName = [&](int64_t value) {
    return value < 0 ? std::string() : values[value].structure.getName();
  };
  LevelCost::Group group{cost.kind, getName(cost.first), getName(cost.second), getName(cost.out)};
  auto found = llvm::find_if(level.groups, [&](const LevelCost::Group &other) {
    return std::tie(group.kind, group.first, group.second, group.result) ==
           std::tie(other.kind, other.first, other.second, other.result);
  });
  if (found == level.groups.end())
    found = level.groups.insert(found, group);
  int64_t samples = cost.shared ? 1 : chain.batch;
  ++found->count;
  found->flops += cost.flops * samples;
  level.flops += cost.flops * samples;
  level.maxFlops = std::max(level.maxFlops, cost.flops);
  level.bytes += cost.bytes;
  tasks[cost.flops] += samples;
  if (schedule.getNumLinks() > options.maxOperations)
    return;
  // A copy has the number of its source.
  auto resolve = [&](int64_t value) { return value < 0 ? value : values[value].storage; };
  level.operations.push_back({cost.kind, resolve(cost.first), resolve(cost.second), cost.out,
                              values[cost.out < 0 ? cost.first : cost.out].structure, cost.flops});
}

static bool areEqual(const LevelCost &a, const LevelCost &b) {
  auto areGroupsEqual = [](const LevelCost::Group &x, const LevelCost::Group &y) {
    return std::tie(x.kind, x.first, x.second, x.result, x.count, x.flops) ==
           std::tie(y.kind, y.first, y.second, y.result, y.count, y.flops);
  };
  return std::tie(a.phase, a.copies, a.flops, a.maxFlops, a.bytes) ==
             std::tie(b.phase, b.copies, b.flops, b.maxFlops, b.bytes) &&
         std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(),
                    areGroupsEqual) &&
         a.operations.empty() && b.operations.empty();
}

void PlanEvaluator::finishLevel() {
  result.peakBytes = std::max(result.peakBytes, liveBytes);
  for (int64_t value : readLast[levelNumber])
    if (value == 0 || value > schedule.getNumLinks() || hasStoredRegions())
      liveBytes -= getNumBytes(value);
  ++levelNumber;
  result.flops += level.flops;
  result.criticalPathFlops += level.maxFlops;
  result.maxFlops = std::max(result.maxFlops, level.maxFlops);
  result.bytes += level.bytes;
  result.composes += level.count(GroupKind::Compose);
  result.applies += level.count(GroupKind::Apply);
  result.copies += level.copies;
  bool isParallel = !chain.region || storesLinks;
  bool isNewSweep = result.levels.empty() || result.levels.back().phase != level.phase;
  if (!level.groups.empty())
    for (Makespan &makespan : result.makespans)
      makespan.flops += getMakespan({tasks.begin(), tasks.end()}, makespan.workers) +
                        (isParallel || isNewSweep ? options.stepOverhead : 0);
  if (level.groups.empty() && level.copies == 0)
    return;
  result.steps += !level.groups.empty();
  if (!result.levels.empty() && areEqual(result.levels.back(), level))
    ++result.levels.back().repeat;
  else
    result.levels.push_back(std::move(level));
}

int64_t PlanEvaluator::getLinkMatrixFlops() const {
  const RegionCost &region = *chain.region;
  const MatrixStructure &matrix = chain.links.front();
  if (!region.factoredFlops || matrix.isDiagonal())
    return getNumColumns() * region.stateFlops;
  return *region.factoredFlops + (chain.hasInjected ? 2 * matrix.getRows() * matrix.getCols() : 0);
}

void PlanEvaluator::linearize() {
  beginLevel(Phase::Linearize);
  if (hasStoredRegions())
    for (int64_t link = 1; link <= schedule.getNumLinks(); ++link) {
      if (values[link].lastRead < 0)
        continue;
      int64_t flops = getLinkMatrixFlops();
      values[link].finish = flops;
      add({GroupKind::Linearize, link, -1, link, flops, /*shared=*/false,
           getNumBytes(link) + chain.batch * chain.region->savedBytes +
               chain.region->captureBytes});
      liveBytes += getNumBytes(link);
    }
  finishLevel();
}

static Phase getPhase(Sweep sweep) {
  switch (sweep) {
  case Sweep::Up:
    return Phase::Up;
  case Sweep::Middle:
    return Phase::Middle;
  case Sweep::Down:
    return Phase::Down;
  }
  llvm_unreachable("every sweep is listed");
}

void PlanEvaluator::execute(const ScanLevel &scanLevel) {
  beginLevel(getPhase(scanLevel.sweep));
  for (ScanOperation op : scanLevel.operations) {
    if (op.kind == ScanOperation::Kind::Copy) {
      values[op.out].structure = values[op.left].structure;
      values[op.out].finish = values[op.left].finish;
      ++level.copies;
      continue;
    }
    Cost cost = getCost(op);
    add(cost);
    values[op.out].finish = std::max(values[op.left].finish, values[op.right].finish) + cost.flops;
    result.spanFlops = std::max(result.spanFlops, values[op.out].finish);
    liveBytes += getNumBytes(op.out);
    // Transitions of region links are updated in place.
    if (chain.region)
      for (int64_t operand : {values[op.left].storage, values[op.right].storage})
        if (auto found = llvm::find(readLast[levelNumber], operand);
            found != readLast[levelNumber].end()) {
          liveBytes -= getNumBytes(operand);
          readLast[levelNumber].erase(found);
        }
  }
  finishLevel();
}

void PlanEvaluator::emit() {
  beginLevel(Phase::Emit);
  for (int64_t link = 1; link <= schedule.getNumLinks(); ++link) {
    if (!chain.region || chain.region->emitFlops == 0 || isEmittedByProduct[link])
      continue;
    const RegionCost &region = *chain.region;
    int64_t entering = schedule.getEntering(link);
    int64_t bytes = chain.batch * (region.savedBytes + region.emittedBytes) + region.captureBytes +
                    getNumBytes(entering);
    add({GroupKind::Emit, entering, -1, -1, region.emitFlops, /*shared=*/false, bytes});
    result.spanFlops = std::max(result.spanFlops, values[entering].finish + region.emitFlops);
  }
  finishLevel();
}

PlanEvaluation PlanEvaluator::run() {
  result.numLinks = schedule.getNumLinks();
  result.depth = schedule.getDepth();
  findLastReads();
  if (!chain.region)
    for (int64_t link = 1; link <= schedule.getNumLinks(); ++link)
      result.linkBytes += values[link].lastRead < 0 ? 0 : getNumBytes(link);
  liveBytes = getNumBytes(0);
  linearize();
  for (const ScanLevel &scanLevel : schedule.getLevels())
    execute(scanLevel);
  emit();
  return std::move(result);
}

std::optional<PlanEvaluation> bppsa::evaluatePlan(const LinkChain &chain, PlanAttr plan,
                                                  const EvaluationOptions &options) {
  std::optional<ScanSchedule> schedule =
      ScanSchedule::get(plan, chain.links.size(), chain.withInitial, options.firstChunk);
  if (!schedule)
    return std::nullopt;
  // Lowerings store transitions of single links only for trees; `hybrid:0` is linear.
  bool storesLinks = plan.getAlgorithm() == ScanAlgorithm::Blelloch ||
                     (plan.getAlgorithm() == ScanAlgorithm::Hybrid && plan.getSize() > 0);
  PlanEvaluation evaluation = PlanEvaluator(chain, *schedule, storesLinks, options).run();
  evaluation.plan = plan.toString();
  return evaluation;
}
