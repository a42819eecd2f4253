//===- ScanSchedule.cpp - operations of a scan plan -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/ScanSchedule.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include <numeric>

using namespace bppsa;

using Kind = ScanOperation::Kind;

ScanSchedule::ScanSchedule(int64_t numLinks)
    : numLinks(numLinks), numValues(numLinks + 1), entering(numLinks + 1) {
  assert(numLinks >= 1 && "a chain has at least one link");
}

int64_t ScanSchedule::emit(Kind kind, int64_t left, int64_t right, size_t level, Sweep sweep) {
  while (levels.size() <= level)
    levels.push_back({sweep, {}});
  int64_t out = numValues++;
  levels[level].operations.push_back({kind, left, right, out});
  return out;
}

namespace {
struct StaticLoops {
  using Index = int64_t;

  Index constant(int64_t value) { return value; }
  Index add(Index a, Index b) { return a + b; }
  Index sub(Index a, Index b) { return a - b; }
  Index mul(Index a, Index b) { return a * b; }
  Index div(Index a, Index b) { return a / b; }
  Index shl(Index a, Index b) { return a << b; }
  Index min(Index a, Index b) { return std::min(a, b); }
};
} // namespace

/// Operations that can run in parallel form one level.
class ScanSchedule::TreeEmitter : public StaticLoops {
public:
  explicit TreeEmitter(ScanSchedule &schedule)
      : schedule(schedule), matrices(schedule.numLinks + 1), vectors(schedule.numLinks + 1) {
    std::iota(matrices.begin(), matrices.end(), 0);
  }

  void beginSweep(Sweep next) {
    sweep = next;
    beginLevel();
  }
  template <typename Body> void inParallel(Index lower, Index upper, Body body) {
    for (Index i = lower; i < upper; ++i)
      body(i);
  }
  template <typename Body> void inOrder(Index lower, Index upper, Index step, Body body) {
    for (Index i = lower; i < upper; i += step) {
      beginLevel();
      body(i);
    }
  }
  template <typename GetPair, typename First, typename Others>
  void inPairs(Index count, GetPair getPair, First first, Others others) {
    first(getPair(0));
    inParallel(1, count, [&](Index i) { others(getPair(i)); });
  }

  /// Links have the same numbers as their values.
  void linearize(Index) {}
  void compose(Index left, Index right) {
    matrices[right] = emit(Kind::Compose, matrices[left], matrices[right]);
  }
  void extend(Index left, Index right, Index) {
    vectors[right] = emit(Kind::Apply, vectors[left], matrices[right]);
  }
  void enter(Index left, Index to) { vectors[to] = emit(Kind::Copy, vectors[left], -1); }
  void apply(Index matrix, Index to) {
    vectors[to] = emit(Kind::Apply, vectors[matrix], matrices[matrix]);
  }
  void pushDown(Index left, Index right) {
    int64_t prefix = vectors[right];
    vectors[right] = emit(Kind::Apply, prefix, matrices[left]);
    vectors[left] = prefix;
  }

  void finish() { schedule.entering = vectors; }

private:
  void beginLevel() { level = schedule.levels.size(); }
  int64_t emit(Kind kind, int64_t left, int64_t right) {
    return schedule.emit(kind, left, right, level, sweep);
  }

  ScanSchedule &schedule;
  Sweep sweep = Sweep::Up;
  size_t level = 0;
  std::vector<int64_t> matrices, vectors;
};

ScanSchedule ScanSchedule::getHybrid(int64_t numLinks, int64_t numLevels, bool withInitial) {
  ScanSchedule schedule(numLinks);
  TreeEmitter emitter(schedule);
  emitTreeScan(emitter, numLinks, std::min<int64_t>(numLevels, llvm::Log2_64(numLinks)));
  emitter.finish();
  schedule.finish(withInitial);
  return schedule;
}

ScanSchedule ScanSchedule::getBlelloch(int64_t numLinks, bool withInitial) {
  return getHybrid(numLinks, /*numLevels=*/64, withInitial);
}

ScanSchedule ScanSchedule::getLinear(int64_t numLinks, bool withInitial) {
  return getHybrid(numLinks, /*numLevels=*/0, withInitial);
}

/// A level holds one operation of each chunk.
class ScanSchedule::ChunkEmitter : public StaticLoops {
public:
  ChunkEmitter(ScanSchedule &schedule, int64_t chunkSize, int64_t numChunks, FirstChunk first)
      : schedule(schedule), chunkSize(chunkSize), isFirstVector(first == FirstChunk::Vector),
        aggregates(numChunks), carries(numChunks) {}

  void beginSweep(Sweep next) {
    sweep = next;
    firstLevel = schedule.levels.size();
  }
  template <typename Body> void inParallel(Index lower, Index upper, Body body) {
    for (Index i = lower; i < upper; ++i)
      body(i);
  }
  template <typename Body> void inOrder(Index lower, Index upper, Index step, Body body) {
    for (Index i = lower; i < upper; i += step)
      body(i);
  }

  void aggregate(Index chunk) {
    int64_t first = getFirstLink(chunk);
    aggregates[chunk] = first;
    for (int64_t i = 1; i < chunkSize; ++i)
      aggregates[chunk] = emit(Kind::Compose, aggregates[chunk], first + i, i);
  }
  void carry(Index chunk) {
    int64_t level = chunk - (isFirstVector ? 1 : 0);
    carries[chunk + 1] = emit(Kind::Apply, carries[chunk], aggregates[chunk], level);
  }
  void run(Index chunk) {
    int64_t first = getFirstLink(chunk), last = std::min(first + chunkSize, schedule.numLinks + 1);
    schedule.entering[first] = carries[chunk];
    for (int64_t link = first + 1; link < last; ++link)
      schedule.entering[link] =
          emit(Kind::Apply, schedule.entering[link - 1], link - 1, link - first - 1);
    // The value that leaves any other chunk is not read.
    if (isFirstVector && chunk == 0 && carries.size() > 1)
      carries[1] = emit(Kind::Apply, schedule.entering[last - 1], last - 1, chunkSize - 1);
  }

private:
  int64_t getFirstLink(int64_t chunk) { return chunk * chunkSize + 1; }
  int64_t emit(Kind kind, int64_t left, int64_t right, size_t level) {
    return schedule.emit(kind, left, right, firstLevel + level, sweep);
  }

  ScanSchedule &schedule;
  int64_t chunkSize;
  bool isFirstVector;
  Sweep sweep = Sweep::Up;
  size_t firstLevel = 0;
  /// For each chunk, its aggregated matrix and the value that enters it.
  std::vector<int64_t> aggregates, carries;
};

ScanSchedule ScanSchedule::getChunked(int64_t numLinks, int64_t chunkSize, bool withInitial,
                                      FirstChunk first) {
  assert(chunkSize >= 1 && "a chunk has at least one link");
  ScanSchedule schedule(numLinks);
  int64_t numChunks = (numLinks - 1) / chunkSize + 1;
  ChunkEmitter emitter(schedule, chunkSize, numChunks, first);
  emitChunkedScan(emitter, numChunks, first);
  schedule.finish(withInitial);
  return schedule;
}

std::optional<ScanSchedule> ScanSchedule::get(PlanAttr plan, int64_t numLinks, bool withInitial,
                                              FirstChunk first) {
  switch (plan.getAlgorithm()) {
  case ScanAlgorithm::Linear:
    return getLinear(numLinks, withInitial);
  case ScanAlgorithm::Blelloch:
    return getBlelloch(numLinks, withInitial);
  case ScanAlgorithm::Hybrid:
    return getHybrid(numLinks, plan.getSize(), withInitial);
  case ScanAlgorithm::Chunked:
    if (plan.getSize() == 0)
      return std::nullopt;
    return getChunked(numLinks, plan.getSize(), withInitial, first);
  }
  llvm_unreachable("every algorithm is listed");
}

void ScanSchedule::finish(bool withInitial) {
  if (withInitial)
    initial = emit(Kind::Apply, entering[numLinks], numLinks, levels.size(), Sweep::Down);
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
