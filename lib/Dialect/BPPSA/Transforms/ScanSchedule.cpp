//===- ScanSchedule.cpp - the operations of a scan plan -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The up- and down-sweep are those of "BPPSA: Scaling Back-propagation by
// Parallel Scan Algorithm" (Wang, Bai, Pekhimenko, MLSys 2020), on an array of
// any length: right indices are clamped, the root product is not formed, and
// the operands of the down-sweep are reversed, because the prefix of everything
// to the left has to come first.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Transforms/ScanSchedule.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include <numeric>

using namespace bppsa;

using Kind = ScanOperation::Kind;
using Sweep = ScanLevel::Sweep;

/// Stands for the identity, which is never formed.
static constexpr int64_t identity = -1;

ScanSchedule::ScanSchedule(int64_t numLinks)
    : numLinks(numLinks), numValues(numLinks + 1), entering(numLinks + 1, identity),
      isVector(numLinks + 1, false) {
  assert(numLinks >= 1 && "a chain has at least one link");
  isVector[0] = true;
}

int64_t ScanSchedule::emit(int64_t left, int64_t right) {
  int64_t out = numValues++;
  std::vector<ScanOperation> &operations = levels.back().operations;
  if (left == identity) {
    operations.push_back({Kind::Copy, right, -1, out});
    isVector.push_back(isVector[right]);
    return out;
  }
  operations.push_back({isVector[left] ? Kind::Apply : Kind::Compose, left, right, out});
  isVector.push_back(isVector[left]);
  return out;
}

//===----------------------------------------------------------------------===//
// Blelloch and hybrid: `a` holds the number of the value at each position
//===----------------------------------------------------------------------===//

/// Calls `body(l, r)` for every pair of block roots of level `d` of an array
/// whose last position is `n`.
static void forEachPair(int64_t d, int64_t n, llvm::function_ref<void(int64_t, int64_t)> body) {
  int64_t half = int64_t(1) << d;
  for (int64_t i = 0; i <= n - half; i += 2 * half)
    body(i + half - 1, std::min(i + 2 * half - 1, n));
}

void ScanSchedule::upSweep(std::vector<int64_t> &a, int64_t numLevels) {
  for (int64_t d = 0; d < numLevels; ++d) {
    beginLevel(Sweep::Up);
    forEachPair(d, numLinks, [&](int64_t l, int64_t r) { a[r] = emit(a[l], a[r]); });
  }
}

/// The exclusive scan over the block roots a[2^d - 1], a[2 * 2^d - 1], ..., one
/// after the other; the total goes to the last position.
void ScanSchedule::linearOverRoots(std::vector<int64_t> &a, int64_t numLevels) {
  int64_t block = int64_t(1) << numLevels, prefix = identity;
  for (int64_t root = block - 1; root < numLinks; root += block) {
    beginLevel(Sweep::Middle);
    int64_t total = emit(prefix, a[root]);
    a[root] = prefix;
    prefix = total;
  }
  a[numLinks] = prefix;
}

void ScanSchedule::downSweep(std::vector<int64_t> &a, int64_t numLevels) {
  for (int64_t d = numLevels - 1; d >= 0; --d) {
    beginLevel(Sweep::Down);
    forEachPair(d, numLinks, [&](int64_t l, int64_t r) {
      int64_t leftSubtree = a[l];
      a[l] = a[r];
      a[r] = emit(a[r], leftSubtree);
    });
  }
}

ScanSchedule ScanSchedule::getHybrid(int64_t numLinks, int64_t numLevels, bool withInitial) {
  ScanSchedule schedule(numLinks);
  // One level fewer than the height of the tree, because the identity would
  // replace the root product. What is left of Blelloch's top level of the
  // down-sweep is the linear scan over two roots.
  numLevels = std::min<int64_t>(numLevels, llvm::Log2_64_Ceil(numLinks + 1) - 1);
  std::vector<int64_t> a(numLinks + 1);
  std::iota(a.begin(), a.end(), 0);
  schedule.upSweep(a, numLevels);
  schedule.linearOverRoots(a, numLevels);
  schedule.downSweep(a, numLevels);
  schedule.entering = a;
  schedule.finish(withInitial);
  return schedule;
}

ScanSchedule ScanSchedule::getBlelloch(int64_t numLinks, bool withInitial) {
  return getHybrid(numLinks, /*numLevels=*/64, withInitial);
}

ScanSchedule ScanSchedule::getLinear(int64_t numLinks, bool withInitial) {
  return getHybrid(numLinks, /*numLevels=*/0, withInitial);
}

//===----------------------------------------------------------------------===//
// Chunked
//===----------------------------------------------------------------------===//

/// The aggregates of all chunks but the last, in parallel. What enters the
/// first chunk is known, so that one runs at once. Gives the values that carry.
std::vector<int64_t> ScanSchedule::aggregateChunks(int64_t numChunks, int64_t chunkSize) {
  std::vector<int64_t> aggregates(numChunks, 0);
  for (int64_t i = 0; i < chunkSize; ++i) {
    beginLevel(Sweep::Up);
    for (int64_t chunk = 0; chunk + 1 < numChunks; ++chunk) {
      int64_t link = chunk * chunkSize + 1 + i;
      if (chunk == 0)
        entering[link] = aggregates[0];
      if (chunk > 0 && i == 0)
        aggregates[chunk] = link;
      else
        aggregates[chunk] = emit(aggregates[chunk], link);
    }
  }
  return aggregates;
}

ScanSchedule ScanSchedule::getChunked(int64_t numLinks, int64_t chunkSize, bool withInitial) {
  assert(chunkSize >= 1 && "a chunk has at least one link");
  chunkSize = std::min(chunkSize, numLinks);
  int64_t numChunks = (numLinks + chunkSize - 1) / chunkSize;
  if (numChunks == 1)
    return getLinear(numLinks, withInitial);
  ScanSchedule schedule(numLinks);
  std::vector<int64_t> aggregates = schedule.aggregateChunks(numChunks, chunkSize);

  // The carry across chunks.
  int64_t carry = aggregates[0];
  for (int64_t chunk = 1; chunk < numChunks; ++chunk) {
    schedule.beginLevel(Sweep::Middle);
    schedule.entering[chunk * chunkSize + 1] = carry;
    carry = schedule.emit(carry, aggregates[chunk]);
  }

  // All chunks but the first again, in parallel, from what enters them.
  for (int64_t i = 1; i < chunkSize; ++i) {
    schedule.beginLevel(Sweep::Down);
    for (int64_t link = chunkSize + 1 + i; link <= numLinks; link += chunkSize)
      schedule.entering[link] = schedule.emit(schedule.entering[link - 1], link - 1);
  }
  schedule.finish(withInitial);
  return schedule;
}

std::optional<ScanSchedule> ScanSchedule::get(PlanAttr plan, int64_t numLinks, bool withInitial) {
  switch (plan.getAlgorithm()) {
  case ScanAlgorithm::Auto:
    return std::nullopt;
  case ScanAlgorithm::Linear:
    return getLinear(numLinks, withInitial);
  case ScanAlgorithm::Blelloch:
    return getBlelloch(numLinks, withInitial);
  case ScanAlgorithm::Hybrid:
    return getHybrid(numLinks, plan.getSize(), withInitial);
  case ScanAlgorithm::Chunked:
    if (plan.getSize() == 0)
      return std::nullopt;
    return getChunked(numLinks, plan.getSize(), withInitial);
  }
  llvm_unreachable("every algorithm is listed");
}

//===----------------------------------------------------------------------===//
// Dead operations and counts
//===----------------------------------------------------------------------===//

void ScanSchedule::finish(bool withInitial) {
  if (withInitial) {
    beginLevel(Sweep::Down);
    initial = emit(entering[numLinks], numLinks);
  }
  // Every product of the up-sweep with the right edge is dead, because the
  // identity replaces the last element; so is the aggregate of the last chunk.
  std::vector<bool> isRead(numValues, false);
  for (int64_t link = 1; link <= numLinks; ++link)
    isRead[entering[link]] = true;
  if (withInitial)
    isRead[initial] = true;
  for (ScanLevel &level : llvm::reverse(levels)) {
    llvm::erase_if(level.operations, [&](ScanOperation op) { return !isRead[op.out]; });
    for (ScanOperation op : level.operations) {
      isRead[op.left] = true;
      if (op.kind != Kind::Copy)
        isRead[op.right] = true;
    }
  }
  llvm::erase_if(levels, [](const ScanLevel &level) { return level.operations.empty(); });
}

int64_t ScanSchedule::count(Sweep sweep, Kind kind) const {
  int64_t number = 0;
  for (const ScanLevel &level : levels)
    if (level.sweep == sweep)
      number += llvm::count_if(level.operations, [&](ScanOperation op) { return op.kind == kind; });
  return number;
}

int64_t ScanSchedule::count(Kind kind) const {
  return count(Sweep::Up, kind) + count(Sweep::Middle, kind) + count(Sweep::Down, kind);
}

int64_t ScanSchedule::getDepth() const {
  std::vector<int64_t> depth(numValues, 0);
  for (const ScanLevel &level : levels)
    for (ScanOperation op : level.operations)
      depth[op.out] =
          op.kind == Kind::Copy ? depth[op.left] : std::max(depth[op.left], depth[op.right]) + 1;
  return *llvm::max_element(depth);
}
