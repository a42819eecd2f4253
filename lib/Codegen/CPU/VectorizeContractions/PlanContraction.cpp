//===- PlanContraction.cpp - plan the loops of a contraction --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../SumOfProducts.h"
#include "Contraction.h"

using namespace mlir;
using namespace bppsa;

/// Returns the stride in elements, or nothing if it is unknown or negative.
static std::optional<int64_t> getStride(const Contraction &contraction, unsigned operand,
                                        unsigned loop) {
  if (!contraction.depends(operand, loop))
    return 0;
  AffineMap map = contraction.maps[operand];
  auto type = cast<MemRefType>(contraction.getOp()->getOperand(operand).getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return std::nullopt;
  if (llvm::any_of(map.getResults().drop_back(),
                   [&](AffineExpr expr) { return expr.isFunctionOfDim(loop); }))
    return std::nullopt;
  AffineExpr last = map.getResults().back();
  AffineExpr dim = getAffineDimExpr(loop, map.getContext());
  auto stride = dyn_cast<AffineConstantExpr>(
      simplifyAffineExpr(last.replace(dim, dim + 1) - last, map.getNumDims(), 0));
  // Lanes of a result must be distinct elements, and their offsets must fit 32 bits.
  constexpr int64_t longest = 1 << 16;
  if (!stride || stride.getValue() < 1 || stride.getValue() > longest)
    return std::nullopt;
  return stride.getValue();
}

static double getUse(int64_t size) {
  constexpr int64_t width = 16;
  if (ShapedType::isDynamic(size))
    return 1;
  return static_cast<double>(size) / llvm::alignTo(size, width);
}

static std::optional<std::array<int64_t, 3>> getLaneStrides(const Contraction &contraction,
                                                            unsigned loop) {
  std::array<int64_t, 3> strides;
  for (unsigned operand = 0; operand < 3; ++operand) {
    std::optional<int64_t> stride = getStride(contraction, operand, loop);
    if (!stride)
      return std::nullopt;
    strides[operand] = *stride;
  }
  // An inactive lane must add zero to a sum, so both factors must be zero.
  bool isSum = strides[Contraction::result] == 0, lhs = strides[0] != 0, rhs = strides[1] != 0;
  return (isSum ? lhs && rhs : lhs || rhs) ? std::optional(strides) : std::nullopt;
}

static bool chooseLanes(Contraction &contraction, ArrayRef<int64_t> sizes) {
  double best = 0;
  for (unsigned loop = 0; loop < sizes.size(); ++loop) {
    std::optional<std::array<int64_t, 3>> strides = getLaneStrides(contraction, loop);
    if (!strides)
      continue;
    bool isSum = (*strides)[Contraction::result] == 0;
    double use = getUse(sizes[loop]) - (isSum ? 0.01 : 0);
    // Strided elements are gathered, for every term if lanes are summed.
    for (int64_t stride : *strides)
      use *= stride <= 1 ? 1 : isSum ? 0.15 : 0.5;
    if (use > best) {
      best = use;
      contraction.lanes = loop;
      contraction.laneStrides = *strides;
    }
  }
  return best > 0;
}

static void chooseRows(Contraction &contraction) {
  for (unsigned loop : contraction.outer) {
    bool isPlain =
        contraction.getOp().getIteratorTypesArray()[loop] == utils::IteratorType::parallel;
    bool isShared = llvm::any_of(llvm::seq(0u, 2u), [&](unsigned i) {
      return contraction.depends(i, contraction.lanes) && !contraction.depends(i, loop);
    });
    if (loop == contraction.lanes || !isPlain || !isShared)
      continue;
    contraction.rows = loop;
    return;
  }
}

/// Puts a loop whose iterations write different elements first. Rows come last: there are few tiles
/// of them.
static void chooseThreads(Contraction &contraction, ArrayRef<int64_t> sizes) {
  SmallVector<utils::IteratorType> iterators = contraction.getOp().getIteratorTypesArray();
  auto isParallel = [&](unsigned loop) {
    return iterators[loop] == utils::IteratorType::parallel && loop != contraction.lanes;
  };
  auto *first = llvm::find_if(contraction.outer, [&](unsigned loop) {
    return isParallel(loop) && loop != contraction.rows && sizes[loop] != 1;
  });
  if (first == contraction.outer.end())
    first = llvm::find_if(contraction.outer, isParallel);
  if (first == contraction.outer.end())
    return;
  std::rotate(contraction.outer.begin(), first, first + 1);
  constexpr double enough = 16384;
  double products = 1;
  for (auto [loop, size] : llvm::enumerate(sizes))
    if (loop != contraction.outer.front() && !ShapedType::isDynamic(size))
      products *= size;
  contraction.isParallel = products >= enough;
}

std::optional<Contraction> bppsa::planContraction(linalg::GenericOp op) {
  if (!isSumOfProducts(op))
    return std::nullopt;
  Contraction contraction;
  contraction.generic = op;
  contraction.maps = op.getIndexingMapsArray();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  if (!chooseLanes(contraction, sizes))
    return std::nullopt;
  for (unsigned loop = 0; loop < sizes.size(); ++loop) {
    bool isOuter = contraction.depends(Contraction::result, loop);
    (isOuter ? contraction.outer : contraction.inner).push_back(loop);
  }
  // Lanes vary fastest.
  auto moveBack = [&](SmallVector<unsigned> &loops) {
    if (auto *it = llvm::find(loops, contraction.lanes); it != loops.end())
      std::rotate(it, it + 1, loops.end());
  };
  moveBack(contraction.outer);
  moveBack(contraction.inner);
  chooseRows(contraction);
  chooseThreads(contraction, sizes);
  return contraction;
}
