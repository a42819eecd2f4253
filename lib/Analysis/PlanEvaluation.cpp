//===- PlanEvaluation.cpp - what a scan plan costs on a chain -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Analysis/PlanEvaluation.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "llvm/ADT/STLExtras.h"
#include <functional>
#include <map>
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
  // Work that every worker has done besides its load.
  int64_t common = 0, most = 0;
  for (auto [flops, count] : tasks)
    while (count > 0 && flops > 0) {
      if (count >= workers && most - loads.top() <= flops) {
        // Equal tasks on loads this close: each worker takes one before any takes
        // another.
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

namespace {
/// What is known of a value of the schedule.
struct ValueCost {
  MatrixStructure structure = MatrixStructure::getZero(0, 0);
  /// Whether this is a link that is applied as code.
  bool isRegion = false;
  /// The value whose memory this one shares.
  int64_t storage = -1;
  /// The level after which the memory is free.
  int64_t lastRead = -1;
  /// When it is known at the earliest.
  int64_t finish = 0;
};

class PlanEvaluator {
public:
  PlanEvaluator(const LinkChain &chain, const ScanSchedule &schedule, bool storesLinks,
                const EvaluationOptions &options);

  PlanEvaluation run();

private:
  /// An operation of a level with its costs for one sample.
  struct Cost {
    GroupKind kind;
    int64_t first, second, out;
    int64_t flops;
    /// All samples have the same operands.
    bool shared;
    int64_t bytes;
  };

  bool hasStoredRegions() const { return chain.region && storesLinks; }
  /// Columns that walk through a link that is code to make its map; a diagonal is
  /// one column.
  int64_t getNumColumns() const {
    const MatrixStructure &link = chain.links.front();
    bool isDiagonal = link.getKind() == MatrixStructure::Kind::Diagonal;
    return (isDiagonal ? 1 : link.getCols()) + chain.hasInjected;
  }
  /// Bytes of a value for the whole batch.
  int64_t getNumBytes(int64_t value) const;
  Cost getCost(ScanOperation op);
  Cost getRegionCost(ScanOperation op) const;
  void findLastReads();
  void linearize();
  void execute(const ScanLevel &level);
  void emit();
  void beginLevel(Phase phase);
  void add(const Cost &cost);
  void finishLevel();

  const LinkChain &chain;
  const ScanSchedule &schedule;
  bool storesLinks;
  const EvaluationOptions &options;
  PlanEvaluation result;
  std::vector<ValueCost> values;
  /// Links that are code and that some product applies to what enters them.
  std::vector<bool> emitsWhereApplied;
  LevelCost level;
  /// FLOPs and number of the independent tasks of the level.
  std::map<int64_t, int64_t> tasks;
  /// Values written by the level, and all that are in memory.
  int64_t levelNumber = 0;
  int64_t liveBytes = 0;
  std::vector<std::vector<int64_t>> readLast;
};
} // namespace

PlanEvaluator::PlanEvaluator(const LinkChain &chain, const ScanSchedule &schedule, bool storesLinks,
                             const EvaluationOptions &options)
    : chain(chain), schedule(schedule), storesLinks(storesLinks), options(options),
      values(schedule.getNumValues()), emitsWhereApplied(schedule.getNumLinks() + 1, false) {
  for (auto [index, value] : llvm::enumerate(values))
    value.storage = index;
  values[0].structure = MatrixStructure::getDense(chain.links.front().getCols(), 1);
  for (auto [index, link] : llvm::enumerate(chain.links)) {
    values[index + 1].structure = link;
    values[index + 1].isRegion = chain.region && !storesLinks;
  }
  for (int64_t workers : options.workers)
    result.makespans.push_back({workers, 0});
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

int64_t PlanEvaluator::getNumBytes(int64_t value) const {
  const ValueCost &cost = values[value];
  if (cost.isRegion)
    return 0;
  int64_t bytes = cost.structure.getNumBytes(chain.elementBytes);
  bool isMap = cost.structure.getCols() > 1 && value != 0;
  if (isMap && chain.hasInjected)
    bytes += cost.structure.getRows() * chain.elementBytes;
  return bytes * (cost.structure.isShared() ? 1 : chain.batch) + cost.structure.getNumIndexBytes();
}

/// The number of the level that reads each value last. Level 0 forms links, and
/// the level after those of the schedule emits.
void PlanEvaluator::findLastReads() {
  int64_t number = 0, end = schedule.getLevels().size() + 1;
  auto read = [&](int64_t value) { values[values[value].storage].lastRead = number; };
  for (const ScanLevel &scanLevel : schedule.getLevels()) {
    ++number;
    for (ScanOperation op : scanLevel.operations) {
      if (op.kind == ScanOperation::Kind::Apply && values[op.right].isRegion)
        emitsWhereApplied[op.right] = true;
      if (op.kind == ScanOperation::Kind::Copy)
        values[op.out].storage = values[op.left].storage;
      else
        read(op.right);
      read(op.left);
      read(op.out);
    }
  }
  number = end;
  // Stored links are followed by parameter gradients, which read every cotangent;
  // code emits where it is applied.
  for (int64_t link = 1; link <= schedule.getNumLinks(); ++link)
    if (!emitsWhereApplied[link])
      read(schedule.getEntering(link));
  if (schedule.getInitial() >= 0)
    read(schedule.getInitial());
  readLast.resize(end + 1);
  for (auto [index, value] : llvm::enumerate(values))
    if (value.lastRead >= 0)
      readLast[value.lastRead].push_back(index);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// A product with a link that is code: done in place.
PlanEvaluator::Cost PlanEvaluator::getRegionCost(ScanOperation op) const {
  const RegionCost &region = *chain.region;
  bool isCompose = op.kind == ScanOperation::Kind::Compose;
  int64_t rows = values[op.right].structure.getRows();
  int64_t columns = isCompose ? getNumColumns() : 1;
  int64_t flops = isCompose ? columns * region.stateFlops : region.fullFlops;
  int64_t bytes = chain.batch * (region.savedBytes + 2 * columns * rows * chain.elementBytes) +
                  region.captureBytes;
  if (chain.hasInjected)
    flops += rows;
  // The map that a chunk begins with is that of its first link, which is made
  // from unit vectors.
  if (isCompose && values[op.left].isRegion) {
    flops *= 2;
    bytes *= 2;
  }
  if (!isCompose)
    bytes += chain.batch * region.emittedBytes;
  return {isCompose ? GroupKind::Compose : GroupKind::Apply,
          op.left,
          op.right,
          op.out,
          flops,
          /*shared=*/false,
          bytes};
}

PlanEvaluator::Cost PlanEvaluator::getCost(ScanOperation op) {
  const MatrixStructure &left = values[op.left].structure, &right = values[op.right].structure;
  bool isCompose = op.kind == ScanOperation::Kind::Compose;
  MatrixStructure &out = values[op.out].structure;
  if (isCompose || chain.sparseCotangents)
    out = multiply(right, left);
  else
    out = MatrixStructure::getDense(right.getRows(), 1);
  if (!isCompose || chain.hasInjected)
    out = out.withShared(false);
  if (values[op.right].isRegion)
    return getRegionCost(op);
  int64_t flops = 2 * countMultiplyAdds(right, left);
  if (chain.hasInjected)
    flops += right.getRows() + (isCompose ? 2 * right.getNumNonzeros() : 0);
  int64_t bytes = getNumBytes(op.left) + getNumBytes(op.right) + getNumBytes(op.out);
  return {isCompose ? GroupKind::Compose : GroupKind::Apply,
          op.left,
          op.right,
          op.out,
          flops,
          isCompose && out.isShared(),
          bytes};
}

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

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
  if (schedule.getNumLinks() > options.mostOperations)
    return;
  // A copy is another name of what it copies.
  auto resolve = [&](int64_t value) { return value < 0 ? value : values[value].storage; };
  level.operations.push_back({cost.kind, resolve(cost.first), resolve(cost.second), cost.out,
                              values[cost.out < 0 ? cost.first : cost.out].structure, cost.flops});
}

/// Whether two levels differ in nothing that is printed of them.
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

/// Adds the level to the totals.
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

/// Forms the matrices of links that are code, where a tree reads them.
void PlanEvaluator::linearize() {
  beginLevel(Phase::Linearize);
  if (hasStoredRegions())
    for (int64_t link = 1; link <= schedule.getNumLinks(); ++link) {
      if (values[link].lastRead < 0)
        continue;
      int64_t columns = getNumColumns(), flops = columns * chain.region->stateFlops;
      values[link].finish = flops;
      add({GroupKind::Linearize, link, -1, link, flops, /*shared=*/false,
           getNumBytes(link) + chain.batch * chain.region->savedBytes +
               chain.region->captureBytes});
      liveBytes += getNumBytes(link);
    }
  finishLevel();
}

static Phase getPhase(ScanLevel::Sweep sweep) {
  switch (sweep) {
  case ScanLevel::Sweep::Up:
    return Phase::Up;
  case ScanLevel::Sweep::Middle:
    return Phase::Middle;
  case ScanLevel::Sweep::Down:
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
    // Maps of code are updated in place.
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

/// What links emit that no product of the schedule applied.
void PlanEvaluator::emit() {
  beginLevel(Phase::Emit);
  for (int64_t link = 1; link <= schedule.getNumLinks(); ++link) {
    if (!chain.region || chain.region->emitFlops == 0 || emitsWhereApplied[link])
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
      ScanSchedule::get(plan, chain.links.size(), chain.withInitial);
  if (!schedule)
    return std::nullopt;
  // Lowerings store the maps of single links for trees only; `hybrid:0` is linear.
  bool storesLinks = plan.getAlgorithm() == ScanAlgorithm::Blelloch ||
                     (plan.getAlgorithm() == ScanAlgorithm::Hybrid && plan.getSize() > 0);
  PlanEvaluation evaluation = PlanEvaluator(chain, *schedule, storesLinks, options).run();
  evaluation.plan = plan.toString();
  return evaluation;
}
