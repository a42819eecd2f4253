//===- FactorValues.cpp - slopes from one factor array --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "OperandRelation.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/Jacobian/Analysis/LinkValues.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace bppsa;

OpOperand *bppsa::findFactor(OpResult result, Value operand) {
  auto op = dyn_cast<linalg::LinalgOp>(result.getOwner());
  if (!op || op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return nullptr;
  Block &body = *op.getBlock();
  Value yielded = body.getTerminator()->getOperand(0);
  auto sum = yielded.getDefiningOp<arith::AddFOp>();
  Value accumulated = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  if (sum && (sum.getLhs() == accumulated || sum.getRhs() == accumulated))
    yielded = sum.getLhs() == accumulated ? sum.getRhs() : sum.getLhs();
  auto product = yielded.getDefiningOp<arith::MulFOp>();
  if (!product)
    return nullptr;
  for (unsigned i : {0, 1}) {
    OpOperand *moving = op.getDpsInputOperand(i), *other = op.getDpsInputOperand(1 - i);
    Value lhs = op.getMatchingBlockArgument(moving), rhs = op.getMatchingBlockArgument(other);
    bool multiplies = (product.getLhs() == lhs && product.getRhs() == rhs) ||
                      (product.getLhs() == rhs && product.getRhs() == lhs);
    if (moving->get() == operand && other->get() != operand && multiplies)
      return other;
  }
  return nullptr;
}

DenseElementsAttr bppsa::getNonzeros(Value factor) {
  auto argument = dyn_cast<BlockArgument>(factor);
  auto function =
      argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()) : nullptr;
  return function ? attrs::Nonzeros::ofArgument(function, argument.getArgNumber())
                  : DenseElementsAttr();
}

std::optional<SharedValues> bppsa::getFactorValues(OpOperand &factor,
                                                   const Relation::Access &access) {
  auto op = cast<linalg::LinalgOp>(factor.getOwner());
  ArrayAccess array = makeAccess(op.getMatchingIndexingMap(&factor), factor.get());
  DenseElementsAttr nonzeros = getNonzeros(factor.get());
  if (!nonzeros)
    return getSharedValues(access.nest, access.operand, access.result, array);
  std::vector<bool> kept(nonzeros.value_begin<bool>(), nonzeros.value_end<bool>());
  return getPrunedValues(access.nest, access.operand, access.result, array,
                         [&](int64_t element) { return kept[element]; });
}
