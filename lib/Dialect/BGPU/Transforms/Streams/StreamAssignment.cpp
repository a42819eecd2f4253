//===- StreamAssignment.cpp - assignment of launches to streams -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StreamAssignment.h"
#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace bppsa;

StreamAssignment::StreamAssignment(ArrayRef<BackwardLaunch> launches, MarkPhaseOp start)
    : launches(launches.begin(), launches.end()), start(start) {
  // Each launch returned to the main stream adds an ordering constraint, so groups are formed
  // again.
  for (bool changed = true; std::exchange(changed, false);) {
    formGroups();
    for (const WeightGroup &group : groups)
      if (staysOnMainStream(group)) {
        for (unsigned number : group.launches)
          this->launches[number].isParameter = false;
        changed = true;
        break;
      }
  }
  findEarliest();
  findLatest();
}

void StreamAssignment::formGroups() {
  llvm::EquivalenceClasses<unsigned> classes;
  for (unsigned i = 0, e = launches.size(); i < e; ++i) {
    if (!launches[i].isParameter)
      continue;
    classes.insert(i);
    for (unsigned j = 0; j < i; ++j)
      if (launches[j].isParameter && conflict(launches[i].accesses, launches[j].accesses))
        classes.unionSets(i, j);
  }
  llvm::MapVector<unsigned, WeightGroup> byLeader;
  for (unsigned i = 0, e = launches.size(); i < e; ++i)
    if (launches[i].isParameter)
      byLeader[classes.getLeaderValue(i)].launches.push_back(i);
  groups.clear();
  for (auto &[leader, group] : byLeader)
    groups.push_back(std::move(group));
}

unsigned StreamAssignment::countBefore(const WeightGroup &group) const {
  unsigned count = 0;
  for (unsigned number : group.launches)
    for (unsigned i = count; i < number; ++i)
      if (!launches[i].isParameter && conflict(launches[i].accesses, launches[number].accesses))
        count = i + 1;
  return count;
}

std::optional<unsigned> StreamAssignment::findNextConflict(const WeightGroup &group,
                                                           unsigned from) const {
  for (unsigned i = from, e = launches.size(); i < e; ++i)
    if (!launches[i].isParameter && llvm::any_of(group.launches, [&](unsigned number) {
          return number < i && conflict(launches[i].accesses, launches[number].accesses);
        }))
      return i;
  return std::nullopt;
}

/// Producers of `op` after `place` move, too. `known` caches checked operations.
static bool canMoveBehind(Operation *op, Operation *place, DenseSet<Operation *> &known) {
  if (!known.insert(op).second)
    return true;
  return llvm::all_of(getUsedValues(op), [&](Value value) {
    Operation *made = value.getDefiningOp();
    return !made || made->getBlock() != place->getBlock() || !place->isBeforeInBlock(made) ||
           ((isMemoryEffectFree(made) || isa<memref::AllocOp>(made)) &&
            canMoveBehind(made, place, known));
  });
}

/// True if a main-stream launch must run between launches of the group, or an operand is available
/// too late.
bool StreamAssignment::staysOnMainStream(const WeightGroup &group) const {
  unsigned count = countBefore(group);
  std::optional<unsigned> next = findNextConflict(group, 0);
  if (next && *next < count)
    return true;
  DenseSet<Operation *> known;
  return llvm::any_of(group.launches, [&](unsigned number) {
    return !canMoveBehind(launches[number].op, getLastOf(count), known);
  });
}

Operation *StreamAssignment::getLastOf(unsigned count) const {
  return count > 0 ? launches[count - 1].op : start;
}

void StreamAssignment::findEarliest() {
  SmallVector<unsigned> counts;
  for (const WeightGroup &group : groups)
    counts.push_back(countBefore(group));
  begins = counts;
  llvm::sort(begins);
  begins.erase(llvm::unique(begins), begins.end());
  for (unsigned begin : begins)
    regions.push_back({getLastOf(begin), {}});
  for (auto [group, count] : llvm::zip_equal(groups, counts))
    group.earliest = llvm::find(begins, count) - begins.begin();
}

void StreamAssignment::findLatest() {
  for (WeightGroup &group : groups) {
    std::optional<unsigned> next = findNextConflict(group, begins[group.earliest]);
    group.latest = regions.size() - 1;
    while (next && begins[group.latest] > *next)
      --group.latest;
  }
}

void StreamAssignment::chooseOwnRegions() {
  for (WeightGroup &group : groups)
    group.region = group.earliest;
}

void StreamAssignment::addCosts(function_ref<LaunchCost(Operation *)> cost) {
  for (auto [number, begin] : llvm::enumerate(begins)) {
    unsigned end = number + 1 < begins.size() ? begins[number + 1] : launches.size();
    for (unsigned i = begin; i < end; ++i)
      if (!launches[i].isParameter)
        regions[number].cost += cost(launches[i].op);
  }
  for (WeightGroup &group : groups)
    for (unsigned number : group.launches)
      group.cost += cost(launches[number].op);
}

void StreamAssignment::chooseJointly(function_ref<LaunchCost(Operation *)> cost) {
  addCosts(cost);
  SmallVector<std::pair<double, unsigned>> order;
  for (auto [number, group] : llvm::enumerate(groups))
    order.push_back({-group.cost.alone, number});
  llvm::sort(order);
  SmallVector<LaunchCost> taken(regions.size());
  for (auto [negativeCost, groupNumber] : order) {
    WeightGroup &group = groups[groupNumber];
    group.region = group.earliest;
    for (unsigned number = group.earliest; number <= group.latest; ++number) {
      LaunchCost with = taken[number];
      with += group.cost;
      const LaunchCost &main = regions[number].cost;
      double hidden = group.cost.alone - (main.beside(with) - main.beside(taken[number]));
      // Of equal regions, the first frees memory sooner.
      if (hidden > group.hidden) {
        group.hidden = hidden;
        group.region = number;
      }
    }
    taken[group.region] += group.cost;
  }
}
