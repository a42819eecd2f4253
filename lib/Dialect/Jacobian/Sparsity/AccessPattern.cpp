//===- AccessPattern.cpp - Jacobian patterns from affine maps -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Loops that share no array index are independent, so only small relations are enumerated: for a
// convolution, image rows, image columns and channel pairs.
//
//===----------------------------------------------------------------------===//

#include "AccessRelation.h"
#include "llvm/ADT/STLExtras.h"

using namespace bppsa;
using namespace mlir;

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

/// Returns false if a map is out of bounds.
static bool enumerateRelation(AccessRelation &relation, ArrayRef<int64_t> extents,
                              int64_t numCols) {
  AccessRelationIndex index(relation);
  std::vector<std::pair<int32_t, int32_t>> entries;
  SmallVector<int64_t> point(extents.size(), 0);
  do {
    std::optional<int64_t> row = index.getRow(point), col = index.getCol(point);
    if (!row || !col)
      return false;
    entries.push_back({int32_t(*row), int32_t(*col)});
  } while (advancePoint(point, relation.loops, extents));
  relation.offsets = SparsityPattern::fromEntries(index.numRows, numCols, entries);
  return true;
}

/// Sums one offset per relation in all combinations; `classes` selects the offsets.
static void combineOffsets(ArrayRef<AccessRelation> relations, ArrayRef<int32_t> classes,
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
  std::vector<AccessRelation> relations = splitLoops(nest, *rows, *cols);
  for (AccessRelation &relation : relations)
    if (!enumerateRelation(relation, nest.extents, numCols))
      return std::nullopt;

  int64_t numClasses = 1;
  for (const AccessRelation &relation : relations)
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
