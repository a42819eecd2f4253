//===- AccessRelation.cpp - independent sets of loops ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "AccessRelation.h"
#include "bppsa/Support/AffineEvaluation.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"

using namespace bppsa;
using namespace mlir;

std::optional<SmallVector<ArrayCoordinate>>
bppsa::getCoordinates(const LoopNest &nest, const ArrayAccess &access, int64_t &numElements) {
  SmallVector<ArrayCoordinate> coordinates;
  numElements = 1;
  for (auto [expr, size] : llvm::reverse(llvm::zip_equal(access.map.getResults(), access.shape))) {
    if (nest.sampleLoop && expr.isFunctionOfDim(*nest.sampleLoop))
      continue;
    coordinates.push_back({expr, size, numElements});
    if (size < 0 || numElements * size > INT32_MAX)
      return std::nullopt;
    numElements *= size;
  }
  return SmallVector<ArrayCoordinate>(llvm::reverse(coordinates));
}

/// Returns nullopt if out of bounds.
static std::optional<int64_t> evaluateAll(ArrayRef<ArrayCoordinate> coordinates,
                                          ArrayRef<int64_t> point, ArrayRef<int64_t> weights) {
  int64_t sum = 0;
  for (auto [coordinate, weight] : llvm::zip_equal(coordinates, weights)) {
    int64_t value = evaluate(coordinate.expr, point);
    if (value < 0 || value >= coordinate.size)
      return std::nullopt;
    sum += value * weight;
  }
  return sum;
}

AccessRelationIndex::AccessRelationIndex(const AccessRelation &relation)
    : relation(relation), rowWeights(relation.rows.size()) {
  for (auto [weight, coordinate] :
       llvm::zip_equal(llvm::reverse(rowWeights), llvm::reverse(relation.rows))) {
    weight = numRows;
    numRows *= coordinate.size;
  }
  for (const ArrayCoordinate &coordinate : relation.cols)
    colWeights.push_back(coordinate.stride);
}

std::optional<int64_t> AccessRelationIndex::getRow(ArrayRef<int64_t> point) const {
  return evaluateAll(relation.rows, point, rowWeights);
}

std::optional<int64_t> AccessRelationIndex::getCol(ArrayRef<int64_t> point) const {
  return evaluateAll(relation.cols, point, colWeights);
}

bool bppsa::advancePoint(MutableArrayRef<int64_t> point, ArrayRef<unsigned> loops,
                         ArrayRef<int64_t> extents) {
  for (unsigned loop : llvm::reverse(loops)) {
    if (++point[loop] < extents[loop])
      return true;
    point[loop] = 0;
  }
  return false;
}

std::vector<AccessRelation> bppsa::splitLoops(const LoopNest &nest, ArrayRef<ArrayCoordinate> rows,
                                              ArrayRef<ArrayCoordinate> cols) {
  llvm::IntEqClasses sets(nest.extents.size());
  auto forEachLoop = [&](AffineExpr expr, llvm::function_ref<void(unsigned)> visit) {
    for (unsigned loop = 0; loop < nest.extents.size(); ++loop)
      if (expr.isFunctionOfDim(loop))
        visit(loop);
  };
  for (const ArrayCoordinate &coordinate : llvm::concat<const ArrayCoordinate>(rows, cols)) {
    std::optional<unsigned> first;
    forEachLoop(coordinate.expr,
                [&](unsigned loop) { sets.join(first.value_or(loop), loop), first = loop; });
  }
  sets.compress();
  std::vector<AccessRelation> relations(sets.getNumClasses() + 1);
  for (unsigned loop = 0; loop < nest.extents.size(); ++loop)
    if (loop != nest.sampleLoop)
      relations[sets[loop]].loops.push_back(loop);
  auto getRelation = [&](const ArrayCoordinate &coordinate) -> AccessRelation & {
    unsigned index = sets.getNumClasses();
    forEachLoop(coordinate.expr, [&](unsigned loop) { index = sets[loop]; });
    return relations[index];
  };
  for (const ArrayCoordinate &coordinate : rows)
    getRelation(coordinate).rows.push_back(coordinate);
  for (const ArrayCoordinate &coordinate : cols)
    getRelation(coordinate).cols.push_back(coordinate);
  // With the largest column strides first, rows are nearly sorted.
  auto getDistance = [](const AccessRelation &relation) {
    return relation.cols.empty() ? 0 : relation.cols.front().stride;
  };
  llvm::sort(relations, [&](const AccessRelation &a, const AccessRelation &b) {
    return getDistance(a) > getDistance(b);
  });
  return relations;
}

int64_t bppsa::getLocalRow(const AccessRelation &relation, int64_t row) {
  int64_t local = 0;
  for (const ArrayCoordinate &coordinate : relation.rows)
    local = local * coordinate.size + (row / coordinate.stride) % coordinate.size;
  return local;
}
