//===- PrunedValues.cpp - patterns of pruned factors ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "AccessRelation.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace bppsa;
using namespace mlir;

namespace {
/// `constant + sum of coefficients[i] * loop i`.
struct LinearIndex {
  int64_t constant = 0;
  SmallVector<int64_t> coefficients;
};
} // namespace

/// Returns nullopt if the index is not linear or may be out of bounds.
static std::optional<LinearIndex> getLinearIndex(ArrayRef<ArrayCoordinate> coordinates,
                                                 ArrayRef<int64_t> extents) {
  LinearIndex index;
  index.coefficients.assign(extents.size(), 0);
  for (const ArrayCoordinate &coordinate : coordinates) {
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
struct SharedEntry {
  int32_t row, col, source;
};
} // namespace

/// Returns false if an entry occurs twice.
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
  // Loops that index the factor, and loops that reuse its elements.
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
      while (advancePoint(point, repeating, extents));
    advancePoint(point, choosing, extents);
  }
  if (!sortEntries(entries, numRows))
    return std::nullopt;
  return makeSharedValues(entries, numRows, numCols);
}
