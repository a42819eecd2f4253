//===- GatherRelation.cpp - gathered elements -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Max pooling finds the position of the maximum in one loop nest and extracts it in another; the
// candidates follow from the possible positions.
//
//===----------------------------------------------------------------------===//

#include "OperandRelation.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace bppsa;

/// Returns null if `value` is not affine in the loops of the nest.
static AffineExpr getIndexExpr(Value value) {
  MLIRContext *context = value.getContext();
  llvm::APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return getAffineConstantExpr(constant.getSExtValue(), context);
  if (auto index = value.getDefiningOp<linalg::IndexOp>())
    return getAffineDimExpr(index.getDim(), context);
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    return getIndexExpr(cast.getIn());
  auto apply = value.getDefiningOp<affine::AffineApplyOp>();
  if (!apply)
    return {};
  SmallVector<AffineExpr> operands = llvm::map_to_vector(apply.getMapOperands(), getIndexExpr);
  if (llvm::is_contained(operands, AffineExpr()))
    return {};
  AffineMap map = apply.getAffineMap();
  return map.getResult(0).replaceDimsAndSymbols(ArrayRef(operands).take_front(map.getNumDims()),
                                                ArrayRef(operands).drop_front(map.getNumDims()));
}

namespace {
/// A possible element of an index tensor, as a function of the loops of a nest.
struct Position {
  LoopNest nest;
  AffineExpr expr;
  AffineMap result;
};
} // namespace

/// Returns false if a value is unknown.
static bool collectPositions(linalg::GenericOp op, unsigned output, Value value,
                             SmallVectorImpl<Position> &positions) {
  if (auto select = value.getDefiningOp<arith::SelectOp>())
    return collectPositions(op, output, select.getTrueValue(), positions) &&
           collectPositions(op, output, select.getFalseValue(), positions);
  if (value == op.getRegionOutputArgs()[output]) {
    auto init = op.getDpsInits()[output].getDefiningOp<linalg::GenericOp>();
    return init && init.getNumResults() == 1 &&
           collectPositions(init, 0, init.getBody()->getTerminator()->getOperand(0), positions);
  }
  AffineExpr expr = getIndexExpr(value);
  if (!expr)
    return false;
  positions.push_back({{op.getStaticLoopRanges(), std::nullopt},
                       expr,
                       op.getMatchingIndexingMap(op.getDpsInitOperand(output))});
  return true;
}

/// Returns false if an element is unknown.
static bool collectPositions(Value tensor, SmallVectorImpl<Position> &positions) {
  auto op = tensor.getDefiningOp<linalg::GenericOp>();
  if (!op)
    return false;
  unsigned output = cast<OpResult>(tensor).getResultNumber();
  return collectPositions(op, output, op.getBody()->getTerminator()->getOperand(output), positions);
}

std::optional<Relation> bppsa::getGatherRelation(linalg::GenericOp op, tensor::ExtractOp extract,
                                                 std::string &why) {
  auto fail = [&] {
    why = "it reads elements that are not known to follow from its loops";
    return std::nullopt;
  };
  OpOperand *init = op.getDpsInitOperand(0);
  if (!op.getMatchingIndexingMap(init).isIdentity())
    return fail();
  SmallVector<Position> positions;
  std::optional<unsigned> chosen;
  SmallVector<AffineExpr> exprs;
  for (auto [i, index] : llvm::enumerate(extract.getIndices())) {
    exprs.push_back(getIndexExpr(index));
    if (exprs.back())
      continue;
    auto cast = index.getDefiningOp<arith::IndexCastOp>();
    auto argument = cast ? dyn_cast<BlockArgument>(cast.getIn()) : BlockArgument();
    if (chosen || !argument || argument.getArgNumber() >= op.getNumDpsInputs() ||
        !op.getMatchingIndexingMap(op.getDpsInputOperand(argument.getArgNumber())).isIdentity() ||
        !collectPositions(op.getDpsInputs()[argument.getArgNumber()], positions))
      return fail();
    chosen = i;
  }
  Relation relation;
  unsigned numLoops = op.getNumLoops();
  if (!chosen)
    positions.push_back({{op.getStaticLoopRanges(), std::nullopt},
                         AffineExpr(),
                         AffineMap::getMultiDimIdentityMap(numLoops, op.getContext())});
  for (const Position &position : positions) {
    SmallVector<AffineExpr> places;
    for (auto [i, expr] : llvm::enumerate(exprs))
      places.push_back(chosen == i ? position.expr
                                   : expr.replaceDims(position.result.getResults()));
    AffineMap map = AffineMap::get(position.nest.extents.size(), 0, places, op.getContext());
    relation.accesses.push_back({position.nest, makeAccess(map, extract.getTensor()),
                                 makeAccess(position.result, op.getResult(0))});
  }
  return relation;
}
