//===- LinkForms.cpp - links as their rules or Jacobians ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LinkForms.h"
#include "bppsa/Support/SampleLayout.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace bppsa;

void bppsa::inlineRule(jacobian::LinkOp link) {
  IRRewriter rewriter(link);
  Block &rule = link.getRule().front();
  Operation *yield = rule.getTerminator();
  rewriter.inlineBlockBefore(&rule, link, link.getCotangent());
  rewriter.replaceOp(link, yield->getOperands());
  rewriter.eraseOp(yield);
}

/// Moves definitions that `region` reads before `front` if possible. Returns `front` or, if some do
/// not move, `link`.
static Operation *makeAvailable(Region &region, jacobian::LinkOp link, Operation *front) {
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(region, captured);
  IRRewriter rewriter(link);
  bool isMoved = succeeded(moveValueDefinitions(rewriter, captured.getArrayRef(), front));
  return isMoved ? front : link.getOperation();
}

/// Operations of the Jacobian move before `point`, others before `link`.
static SmallVector<Value> inlineJacobian(jacobian::LinkOp link, Operation *point) {
  Block &block = link.getJacobian().front();
  llvm::SetVector<Operation *> needed = link.getJacobianOps();
  block.getArgument(0).replaceAllUsesWith(link.getCotangent());
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
    op.moveBefore(needed.contains(&op) ? point : link.getOperation());
  return SmallVector<Value>(block.getTerminator()->getOperands());
}

SmallVector<jacobian::ApplyOp> bppsa::applyJacobians(ArrayRef<jacobian::LinkOp> list,
                                                     bool isDense) {
  Operation *front = jacobian::LinkOp(list.front());
  OpBuilder builder(front);
  Value seed = jacobian::LinkOp(list.front()).getCotangent();
  Value cotangent = flattenSamples(builder, seed);
  // A plan may read any Jacobian before the first product.
  SmallVector<Value> jacobians;
  for (jacobian::LinkOp link : list) {
    if (isDense) {
      builder.setInsertionPoint(makeAvailable(link.getRule(), link, front));
      jacobians.push_back(createDenseJacobian(builder, link, seed));
    }
    SmallVector<Value> yielded =
        inlineJacobian(link, makeAvailable(link.getJacobian(), link, front));
    if (!isDense)
      jacobians.push_back(yielded.front());
    link.getGradients().replaceAllUsesWith(ValueRange(yielded).drop_front());
  }
  SmallVector<jacobian::ApplyOp> applies;
  for (auto [link, jacobian] : llvm::zip_equal(list, jacobians)) {
    auto result = cast<RankedTensorType>(jacobian::LinkOp(link).getResult().getType());
    int64_t rows = cast<jacobian::MatrixType>(jacobian.getType()).getRows();
    auto type = RankedTensorType::get({result.getDimSize(0), rows}, result.getElementType());
    builder.setInsertionPoint(link);
    applies.push_back(
        jacobian::ApplyOp::create(builder, link->getLoc(), type, jacobian, cotangent));
    cotangent = applies.back().getResult();
    jacobian::LinkOp(link).getResult().replaceAllUsesWith(
        unflattenSamples(builder, cotangent, result));
  }
  for (jacobian::LinkOp link : llvm::reverse(list))
    link.erase();
  return applies;
}
