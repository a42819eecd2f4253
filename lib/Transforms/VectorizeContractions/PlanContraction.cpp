//===- PlanContraction.cpp - the order of the loops of a contraction ------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace bppsa;

/// Whether the body is `accumulator + lhs * rhs`.
static bool isSumOfProducts(linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return false;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type || !type.getElementType().isF32())
      return false;
  }
  // Windows are read at sums of loops, so this is more than linalg.contract.
  return llvm::hasNItems(op.getBody()->without_terminator(), 2) &&
         linalg::detail::isContractionBody(*op.getBody(), [](Operation *term, Operation *sum) {
           return isa<arith::MulFOp>(term) && isa<arith::AddFOp>(sum);
         });
}

/// Whether steps of `loop` touch neighbours in the memory of the operand, or
/// the same element.
static bool isContiguous(const Contraction &contraction, unsigned operand, unsigned loop) {
  if (!contraction.depends(operand, loop))
    return true;
  AffineMap map = contraction.maps[operand];
  auto type = cast<MemRefType>(contraction.getOp()->getOperand(operand).getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return false;
  if (llvm::any_of(map.getResults().drop_back(),
                   [&](AffineExpr expr) { return expr.isFunctionOfDim(loop); }))
    return false;
  // One step further in the loop must be one element further.
  AffineExpr last = map.getResults().back();
  AffineExpr dim = getAffineDimExpr(loop, map.getContext());
  return simplifyAffineExpr(last.replace(dim, dim + 1) - last, map.getNumDims(), 0) ==
         getAffineConstantExpr(1, map.getContext());
}

/// How much of its vectors a loop of `size` steps fills.
static double getUse(int64_t size) {
  constexpr int64_t width = 16;
  if (ShapedType::isDynamic(size))
    return 1;
  return static_cast<double>(size) / llvm::alignTo(size, width);
}

static bool chooseLanes(Contraction &contraction, ArrayRef<int64_t> sizes) {
  double best = 0;
  for (unsigned loop = 0; loop < sizes.size(); ++loop) {
    bool fits = llvm::all_of(llvm::seq(0u, 3u),
                             [&](unsigned i) { return isContiguous(contraction, i, loop); });
    bool lhs = contraction.depends(0, loop), rhs = contraction.depends(1, loop);
    // A lane that is switched off adds zero to a sum: both factors must be zero.
    bool isSum = !contraction.depends(Contraction::result, loop);
    if (!fits || (isSum ? !(lhs && rhs) : !(lhs || rhs)))
      continue;
    double use = getUse(sizes[loop]) - (isSum ? 0.01 : 0);
    if (use > best) {
      best = use;
      contraction.lanes = loop;
    }
  }
  return best > 0;
}

/// A loop over the result without which one of the vectors does not change.
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

/// Puts a loop whose steps write different entries first, and says whether it
/// has enough to do for threads. Rows come last: there are few tiles of them.
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
  // The products of one step; dynamic sizes count as one.
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
  // Lanes move fastest.
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
