//===- AccessPattern.cpp - Jacobian patterns from affine maps -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The points of a convolution with many channels are far more than its distinct
// rows. Loops that never meet in one index of an array are independent, so the
// pattern is a product of small relations: of a 2-D convolution one of the rows
// of the image, one of its columns, and all pairs of channels. Only these are
// enumerated; rows of the pattern are put together from them, each distinct row
// once.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Sparse/AccessPattern.h"
#include "bppsa/Support/AffineEvaluation.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <numeric>

using namespace bppsa;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Samples
//===----------------------------------------------------------------------===//

/// Whether `loop` indexes one dimension of `map` alone, and nothing else.
static bool indexesOneDimension(AffineMap map, unsigned loop) {
  AffineExpr expr = getAffineDimExpr(loop, map.getContext());
  return llvm::count(map.getResults(), expr) == 1 &&
         llvm::count_if(map.getResults(),
                        [&](AffineExpr result) { return result.isFunctionOfDim(loop); }) == 1;
}

bool bppsa::isPerSample(const LoopNest &nest, AffineMap operand, AffineMap result) {
  return !nest.sampleLoop || (indexesOneDimension(operand, *nest.sampleLoop) &&
                              indexesOneDimension(result, *nest.sampleLoop));
}

namespace {
/// One index of one sample of an array: how it follows from the loops, its
/// size and the distance of neighbours in row-major order.
struct Coordinate {
  AffineExpr expr;
  int64_t size;
  int64_t stride;
};
} // namespace

/// The coordinates of one sample of `access`. None where the array is too big.
static std::optional<SmallVector<Coordinate>>
getCoordinates(const LoopNest &nest, const ArrayAccess &access, int64_t &numElements) {
  SmallVector<Coordinate> coordinates;
  numElements = 1;
  for (auto [expr, size] : llvm::reverse(llvm::zip_equal(access.map.getResults(), access.shape))) {
    if (nest.sampleLoop && expr.isFunctionOfDim(*nest.sampleLoop))
      continue;
    coordinates.push_back({expr, size, numElements});
    if (size < 0 || numElements * size > INT32_MAX)
      return std::nullopt;
    numElements *= size;
  }
  return SmallVector<Coordinate>(llvm::reverse(coordinates));
}

//===----------------------------------------------------------------------===//
// Relations
//===----------------------------------------------------------------------===//

namespace {
/// The part of a pattern that one set of loops decides: for each combination of
/// `rows` the offsets that `cols` add to the column.
struct Relation {
  SmallVector<unsigned> loops;
  SmallVector<Coordinate> rows, cols;
  /// The class of each combination of `rows`, and the offsets of each class.
  SparsityPattern offsets;
};
} // namespace

/// Values of `coordinates` at `point`, each multiplied by its weight. None where
/// one leaves its array.
static std::optional<int64_t> evaluate(ArrayRef<Coordinate> coordinates, ArrayRef<int64_t> point,
                                       ArrayRef<int64_t> weights) {
  int64_t sum = 0;
  for (auto [coordinate, weight] : llvm::zip_equal(coordinates, weights)) {
    int64_t value = evaluate(coordinate.expr, point);
    if (value < 0 || value >= coordinate.size)
      return std::nullopt;
    sum += value * weight;
  }
  return sum;
}

/// Steps `point` over the box of `extents` along `loops`, the last one fastest.
static bool advance(MutableArrayRef<int64_t> point, ArrayRef<unsigned> loops,
                    ArrayRef<int64_t> extents) {
  for (unsigned loop : llvm::reverse(loops)) {
    if (++point[loop] < extents[loop])
      return true;
    point[loop] = 0;
  }
  return false;
}

namespace {
/// The places of a relation's entries.
struct RelationIndex {
  explicit RelationIndex(const Relation &relation)
      : relation(relation), rowWeights(relation.rows.size()) {
    for (auto [weight, coordinate] :
         llvm::zip_equal(llvm::reverse(rowWeights), llvm::reverse(relation.rows))) {
      weight = numRows;
      numRows *= coordinate.size;
    }
    for (const Coordinate &coordinate : relation.cols)
      colWeights.push_back(coordinate.stride);
  }
  /// The combination of the rows at a point; none where one leaves its array.
  std::optional<int64_t> getRow(ArrayRef<int64_t> point) const {
    return evaluate(relation.rows, point, rowWeights);
  }
  /// What the columns add to the column of the pattern.
  std::optional<int64_t> getCol(ArrayRef<int64_t> point) const {
    return evaluate(relation.cols, point, colWeights);
  }

  const Relation &relation;
  int64_t numRows = 1;
  SmallVector<int64_t> rowWeights, colWeights;
};
} // namespace

/// Fills `relation.offsets`. False where a map leaves its array.
static bool enumerateRelation(Relation &relation, ArrayRef<int64_t> extents, int64_t numCols) {
  RelationIndex index(relation);
  std::vector<std::pair<int32_t, int32_t>> entries;
  SmallVector<int64_t> point(extents.size(), 0);
  do {
    std::optional<int64_t> row = index.getRow(point), col = index.getCol(point);
    if (!row || !col)
      return false;
    entries.push_back({int32_t(*row), int32_t(*col)});
  } while (advance(point, relation.loops, extents));
  relation.offsets = SparsityPattern::fromEntries(index.numRows, numCols, entries);
  return true;
}

/// The sets of loops that meet in an index of an array, with their coordinates.
/// Constant indices form a set without loops.
static std::vector<Relation> splitLoops(const LoopNest &nest, ArrayRef<Coordinate> rows,
                                        ArrayRef<Coordinate> cols) {
  llvm::IntEqClasses sets(nest.extents.size());
  auto forEachLoop = [&](AffineExpr expr, llvm::function_ref<void(unsigned)> visit) {
    for (unsigned loop = 0; loop < nest.extents.size(); ++loop)
      if (expr.isFunctionOfDim(loop))
        visit(loop);
  };
  for (const Coordinate &coordinate : llvm::concat<const Coordinate>(rows, cols)) {
    std::optional<unsigned> first;
    forEachLoop(coordinate.expr,
                [&](unsigned loop) { sets.join(first.value_or(loop), loop), first = loop; });
  }
  sets.compress();
  std::vector<Relation> relations(sets.getNumClasses() + 1);
  for (unsigned loop = 0; loop < nest.extents.size(); ++loop)
    if (loop != nest.sampleLoop)
      relations[sets[loop]].loops.push_back(loop);
  auto getRelation = [&](const Coordinate &coordinate) -> Relation & {
    unsigned index = sets.getNumClasses();
    forEachLoop(coordinate.expr, [&](unsigned loop) { index = sets[loop]; });
    return relations[index];
  };
  for (const Coordinate &coordinate : rows)
    getRelation(coordinate).rows.push_back(coordinate);
  for (const Coordinate &coordinate : cols)
    getRelation(coordinate).cols.push_back(coordinate);
  // With the farthest columns first, rows come out sorted or nearly so.
  auto getDistance = [](const Relation &relation) {
    return relation.cols.empty() ? 0 : relation.cols.front().stride;
  };
  llvm::sort(relations,
             [&](const Relation &a, const Relation &b) { return getDistance(a) > getDistance(b); });
  return relations;
}

/// The sums of one offset of each relation, for the given class of each.
static void combineOffsets(ArrayRef<Relation> relations, ArrayRef<int32_t> classes,
                           std::vector<int32_t> &row) {
  row.assign(1, 0);
  std::vector<int32_t> previous;
  for (auto [relation, index] : llvm::zip_equal(relations, classes)) {
    previous.swap(row);
    row.clear();
    ArrayRef<int32_t> offsets = relation.offsets.getClass(index);
    row.reserve(previous.size() * offsets.size());
    for (int32_t sum : previous)
      for (int32_t offset : offsets)
        row.push_back(sum + offset);
  }
  if (!llvm::is_sorted(row))
    llvm::sort(row);
}

/// The combination of the rows of `relation` at row number `row` of the whole
/// pattern.
static int64_t getLocalRow(const Relation &relation, int64_t row) {
  int64_t local = 0;
  for (const Coordinate &coordinate : relation.rows)
    local = local * coordinate.size + (row / coordinate.stride) % coordinate.size;
  return local;
}

std::optional<SparsityPattern> bppsa::getAccessPattern(const LoopNest &nest,
                                                       const ArrayAccess &operand,
                                                       const ArrayAccess &result) {
  if (!isPerSample(nest, operand.map, result.map) || operand.map.getNumSymbols() != 0 ||
      result.map.getNumSymbols() != 0)
    return std::nullopt;
  int64_t numRows, numCols;
  auto rows = getCoordinates(nest, operand, numRows), cols = getCoordinates(nest, result, numCols);
  if (!rows || !cols)
    return std::nullopt;
  for (auto [loop, extent] : llvm::enumerate(nest.extents))
    if (extent == 0 && loop != nest.sampleLoop)
      return SparsityPattern::getZero(numRows, numCols);
  std::vector<Relation> relations = splitLoops(nest, *rows, *cols);
  for (Relation &relation : relations)
    if (!enumerateRelation(relation, nest.extents, numCols))
      return std::nullopt;

  // There are no more combinations of classes than rows.
  int64_t numClasses = 1;
  for (const Relation &relation : relations)
    numClasses *= relation.offsets.getNumClasses();
  PatternBuilder builder(numRows, numCols);
  std::vector<int32_t> made(numClasses, -1), columns;
  SmallVector<int32_t> classes(relations.size());
  for (int64_t row = 0; row < numRows; ++row) {
    int64_t key = 0;
    for (auto [relation, index] : llvm::zip_equal(relations, classes)) {
      index = relation.offsets.getRowClass(getLocalRow(relation, row));
      key = key * relation.offsets.getNumClasses() + index;
    }
    if (made[key] >= 0) {
      builder.addRowOfClass(made[key]);
      continue;
    }
    combineOffsets(relations, classes, columns);
    made[key] = builder.addRow(columns);
  }
  return builder.take();
}

//===----------------------------------------------------------------------===//
// Shared values
//===----------------------------------------------------------------------===//

namespace {
/// A relation whose entries name elements of a factor: for each combination of
/// the rows the offsets of its entries in the result, and in the factor.
struct ValuedRelation {
  struct Entry {
    int32_t col, source;
  };
  std::vector<std::vector<Entry>> entries;
  /// Combinations with equal numbers have the same entries, but that those in
  /// the factor lie `bases` further on.
  std::vector<int32_t> classes, bases;
};
} // namespace

/// The entries of `relation`, where the loops of `factor` have the given
/// distances. None where an entry has several sources or a map leaves its array.
static std::optional<ValuedRelation>
enumerateValues(const Relation &relation, ArrayRef<int64_t> extents, ArrayRef<int64_t> distances) {
  RelationIndex index(relation);
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
  } while (advance(point, relation.loops, extents));

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

/// The sums of one entry of each relation, for the given row of each, by column.
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
  for (const Coordinate &coordinate : *elements)
    distances[cast<AffineDimExpr>(coordinate.expr).getPosition()] = coordinate.stride;
  std::vector<Relation> relations = splitLoops(nest, *rows, *cols);
  std::vector<ValuedRelation> valued;
  for (const Relation &relation : relations) {
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

/// `constant + sum of coefficients[i] * loop i`.
namespace {
struct LinearIndex {
  int64_t constant = 0;
  SmallVector<int64_t> coefficients;
};
} // namespace

/// The element that one sample of an array is indexed with, as a linear function
/// of the loops. None where it is no such function.
static std::optional<LinearIndex> getLinearIndex(ArrayRef<Coordinate> coordinates,
                                                 ArrayRef<int64_t> extents) {
  LinearIndex index;
  index.coefficients.assign(extents.size(), 0);
  for (const Coordinate &coordinate : coordinates) {
    bool isLinear = coordinate.expr.isPureAffine();
    coordinate.expr.walk([&](AffineExpr expr) {
      isLinear &= expr.getKind() != AffineExprKind::Mod &&
                  expr.getKind() != AffineExprKind::FloorDiv &&
                  expr.getKind() != AffineExprKind::CeilDiv;
    });
    if (!isLinear)
      return std::nullopt;
    AffineMap map = AffineMap::get(extents.size(), 0, coordinate.expr);
    SmallVector<int64_t> point(extents.size(), 0);
    int64_t constant = map.compose(point)[0];
    // The extremes over the box tell whether the index stays inside.
    int64_t least = constant, most = constant;
    index.constant += constant * coordinate.stride;
    for (auto [loop, extent] : llvm::enumerate(extents)) {
      point[loop] = 1;
      int64_t coefficient = map.compose(point)[0] - constant;
      point[loop] = 0;
      index.coefficients[loop] += coefficient * coordinate.stride;
      if (coefficient != 0)
        (coefficient < 0 ? least : most) += coefficient * (extent - 1);
    }
    if (least < 0 || most >= coordinate.size)
      return std::nullopt;
  }
  return index;
}

namespace {
/// An entry with the element that holds its value.
struct SharedEntry {
  int32_t row, col, source;
};
} // namespace

/// Sorts `entries` by row and column. False where an entry occurs twice.
static bool sortEntries(std::vector<SharedEntry> &entries, int64_t numRows) {
  std::vector<int64_t> next(numRows + 1, 0);
  for (const SharedEntry &entry : entries)
    ++next[entry.row + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<int64_t> starts = next;
  std::vector<SharedEntry> sorted(entries.size());
  for (const SharedEntry &entry : entries)
    sorted[next[entry.row]++] = entry;
  entries = std::move(sorted);
  for (int64_t row = 0; row < numRows; ++row)
    std::sort(entries.begin() + starts[row], entries.begin() + starts[row + 1],
              [](const SharedEntry &a, const SharedEntry &b) { return a.col < b.col; });
  return std::adjacent_find(entries.begin(), entries.end(),
                            [](const SharedEntry &a, const SharedEntry &b) {
                              return a.row == b.row && a.col == b.col;
                            }) == entries.end();
}

static SharedValues makeSharedValues(ArrayRef<SharedEntry> entries, int64_t numRows,
                                     int64_t numCols) {
  SharedValues result;
  result.sources.reserve(entries.size());
  PatternBuilder builder(numRows, numCols);
  std::vector<int32_t> columns;
  for (size_t i = 0, row = 0; row < size_t(numRows); ++row) {
    columns.clear();
    for (; i < entries.size() && entries[i].row == int64_t(row); ++i) {
      columns.push_back(entries[i].col);
      result.sources.push_back(entries[i].source);
    }
    builder.addRow(columns);
  }
  result.pattern = builder.take();
  return result;
}

std::optional<SharedValues> bppsa::getPrunedValues(const LoopNest &nest, const ArrayAccess &operand,
                                                   const ArrayAccess &result,
                                                   const ArrayAccess &factor,
                                                   llvm::function_ref<bool(int64_t)> isNonzero) {
  if (!isPerSample(nest, operand.map, result.map) || !factor.map.isProjectedPermutation())
    return std::nullopt;
  SmallVector<int64_t> extents = nest.extents;
  if (nest.sampleLoop)
    extents[*nest.sampleLoop] = 1;
  if (llvm::is_contained(extents, 0))
    return std::nullopt;
  int64_t numRows, numCols, numElements;
  auto rows = getCoordinates(nest, operand, numRows), cols = getCoordinates(nest, result, numCols);
  auto elements = getCoordinates(nest, factor, numElements);
  if (!rows || !cols || !elements ||
      (nest.sampleLoop && factor.map.isFunctionOfDim(*nest.sampleLoop)))
    return std::nullopt;
  auto rowIndex = getLinearIndex(*rows, extents), colIndex = getLinearIndex(*cols, extents);
  if (!rowIndex || !colIndex)
    return std::nullopt;
  // The loops that choose the element, and those that repeat it.
  SmallVector<unsigned> choosing, repeating;
  for (AffineExpr expr : factor.map.getResults())
    choosing.push_back(cast<AffineDimExpr>(expr).getPosition());
  for (unsigned loop = 0; loop < extents.size(); ++loop)
    if (!llvm::is_contained(choosing, loop))
      repeating.push_back(loop);
  auto evaluateAt = [](const LinearIndex &index, ArrayRef<int64_t> point) -> int32_t {
    return std::inner_product(point.begin(), point.end(), index.coefficients.begin(),
                              index.constant);
  };
  std::vector<SharedEntry> entries;
  SmallVector<int64_t> point(extents.size(), 0);
  for (int32_t source = 0; source < numElements; ++source) {
    if (isNonzero(source))
      do
        entries.push_back({evaluateAt(*rowIndex, point), evaluateAt(*colIndex, point), source});
      while (advance(point, repeating, extents));
    advance(point, choosing, extents);
  }
  if (!sortEntries(entries, numRows))
    return std::nullopt;
  return makeSharedValues(entries, numRows, numCols);
}
