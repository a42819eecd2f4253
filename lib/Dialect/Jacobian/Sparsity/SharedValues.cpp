//===- SharedValues.cpp - patterns with shared values ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "AccessRelation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace bppsa;
using namespace mlir;

namespace {
/// Entry offsets in the result and in the factor, for each combination of rows.
struct ValuedRelation {
  struct Entry {
    int32_t col, source;
  };
  std::vector<std::vector<Entry>> entries;
  /// Combinations of one class differ only by the shift `bases` of factor offsets.
  std::vector<int32_t> classes, bases;
};
} // namespace

/// `distances` are loop strides in the factor. Returns nullopt if an entry has several sources or a
/// map is out of bounds.
static std::optional<ValuedRelation> enumerateValues(const AccessRelation &relation,
                                                     ArrayRef<int64_t> extents,
                                                     ArrayRef<int64_t> distances) {
  AccessRelationIndex index(relation);
  ValuedRelation result;
  result.entries.resize(index.numRows);
  SmallVector<int64_t> point(extents.size(), 0);
  do {
    std::optional<int64_t> row = index.getRow(point), col = index.getCol(point);
    if (!row || !col)
      return std::nullopt;
    int64_t source = 0;
    for (unsigned loop : relation.loops)
      source += point[loop] * distances[loop];
    result.entries[*row].push_back({int32_t(*col), int32_t(source)});
  } while (advancePoint(point, relation.loops, extents));

  std::map<std::vector<int32_t>, int32_t> known;
  for (std::vector<ValuedRelation::Entry> &row : result.entries) {
    llvm::sort(row, [](auto a, auto b) { return a.col < b.col; });
    if (std::adjacent_find(row.begin(), row.end(), [](auto a, auto b) { return a.col == b.col; }) !=
        row.end())
      return std::nullopt;
    result.bases.push_back(row.empty() ? 0 : row.front().source);
    std::vector<int32_t> key;
    for (ValuedRelation::Entry &entry : row) {
      entry.source -= result.bases.back();
      key.insert(key.end(), {entry.col, entry.source});
    }
    result.classes.push_back(known.try_emplace(key, known.size()).first->second);
  }
  return result;
}

/// Sums one entry per relation in all combinations, sorted by column.
static std::vector<ValuedRelation::Entry> combineValues(ArrayRef<ValuedRelation> relations,
                                                        ArrayRef<int64_t> rows) {
  std::vector<ValuedRelation::Entry> sums = {{0, 0}}, previous;
  for (auto [relation, row] : llvm::zip_equal(relations, rows)) {
    previous.swap(sums);
    sums.clear();
    for (ValuedRelation::Entry sum : previous)
      for (ValuedRelation::Entry entry : relation.entries[row])
        sums.push_back({sum.col + entry.col, sum.source + entry.source});
  }
  auto isBefore = [](ValuedRelation::Entry a, ValuedRelation::Entry b) { return a.col < b.col; };
  if (!llvm::is_sorted(sums, isBefore))
    llvm::sort(sums, isBefore);
  return sums;
}

std::optional<SharedValues> bppsa::getSharedValues(const LoopNest &nest, const ArrayAccess &operand,
                                                   const ArrayAccess &result,
                                                   const ArrayAccess &factor) {
  SmallVector<int64_t> distances(nest.extents.size(), 0);
  int64_t numRows, numCols, numElements;
  auto rows = getCoordinates(nest, operand, numRows), cols = getCoordinates(nest, result, numCols);
  auto elements = getCoordinates(nest, factor, numElements);
  if (!isPerSample(nest, operand.map, result.map) || !rows || !cols || !elements ||
      elements->size() != factor.map.getNumResults() || !factor.map.isProjectedPermutation())
    return std::nullopt;
  for (const ArrayCoordinate &coordinate : *elements)
    distances[cast<AffineDimExpr>(coordinate.expr).getPosition()] = coordinate.stride;
  std::vector<AccessRelation> relations = splitLoops(nest, *rows, *cols);
  std::vector<ValuedRelation> valued;
  for (const AccessRelation &relation : relations) {
    if (llvm::any_of(relation.loops, [&](unsigned loop) { return nest.extents[loop] == 0; }))
      return std::nullopt;
    auto entries = enumerateValues(relation, nest.extents, distances);
    if (!entries)
      return std::nullopt;
    valued.push_back(std::move(*entries));
  }

  SharedValues values;
  PatternBuilder builder(numRows, numCols);
  struct Row {
    int32_t index;
    std::vector<int32_t> sources;
  };
  DenseMap<int64_t, Row> made;
  SmallVector<int64_t> places(relations.size());
  for (int64_t row = 0; row < numRows; ++row) {
    int64_t key = 0, base = 0;
    for (auto [relation, local, place] : llvm::zip_equal(valued, relations, places)) {
      place = getLocalRow(local, row);
      key = key * relation.entries.size() + relation.classes[place];
      base += relation.bases[place];
    }
    auto [known, isNew] = made.try_emplace(key);
    Row &same = known->second;
    if (isNew) {
      std::vector<int32_t> columns;
      for (ValuedRelation::Entry entry : combineValues(valued, places)) {
        columns.push_back(entry.col);
        same.sources.push_back(entry.source);
      }
      same.index = builder.addRow(columns);
    } else {
      builder.addRowOfClass(same.index);
    }
    for (int32_t source : same.sources)
      values.sources.push_back(base + source);
  }
  values.pattern = builder.take();
  return values;
}
