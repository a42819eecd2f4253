//===- BPPSAFolds.cpp - folds and canonicalization ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace bppsa;

LogicalResult MatVecOp::canonicalize(MatVecOp op, PatternRewriter &rewriter) {
  if (!matchPattern(op.getVector(), m_AnyZeroFloat()) &&
      !matchPattern(op.getMatrix(), m_AnyZeroFloat()))
    return failure();
  if (op.getAddend())
    rewriter.replaceOp(op, op.getAddend());
  else
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, rewriter.getZeroAttr(op.getType()));
  return success();
}

LogicalResult UnpackLanesOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &results) {
  auto pack = getSource().getDefiningOp<PackLanesOp>();
  if (!pack || pack.getLanes() != getLanes() || getNumResults() != 1 ||
      pack.getSource().getType() != getResult().getType())
    return failure();
  results.push_back(pack.getSource());
  return success();
}

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return getRatio().isZero() ? OpFoldResult(getInput()) : OpFoldResult();
}
