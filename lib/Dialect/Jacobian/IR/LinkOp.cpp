//===- LinkOp.cpp - one link of a chain of layers -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"

using namespace mlir;
using namespace bppsa;
using namespace bppsa::jacobian;

MatrixType LinkOp::getJacobianType() {
  return cast<MatrixType>(getJacobian().front().getTerminator()->getOperand(0).getType());
}

llvm::SetVector<Operation *> LinkOp::getJacobianOps() {
  Block &block = getJacobian().front();
  llvm::SetVector<Operation *> needed;
  auto addOperands = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *definition = operand.getDefiningOp();
          definition && definition->getBlock() == &block)
        needed.insert(definition);
  };
  if (Operation *jacobian = block.getTerminator()->getOperand(0).getDefiningOp();
      jacobian && jacobian->getBlock() == &block)
    needed.insert(jacobian);
  for (size_t i = 0; i < needed.size(); ++i)
    needed[i]->walk(addOperands);
  return needed;
}

/// The region takes the cotangent and yields a value of type `first`, then parameter gradients.
static LogicalResult verifyRegion(LinkOp op, Region &region, StringRef name, Type first) {
  Block &block = region.front();
  Type cotangent = op.getCotangent().getType();
  if (block.getArgumentTypes() != TypeRange(cotangent))
    return op.emitOpError() << "the region '" << name << "' must have one argument, the cotangent "
                            << cotangent << ", found " << block.getNumArguments() << " arguments"
                            << (block.getNumArguments() == 1 ? " of another type" : "");
  SmallVector<Type> expected = {first};
  llvm::append_range(expected, op.getGradients().getTypes());
  TypeRange yielded = block.getTerminator()->getOperandTypes();
  if (yielded == TypeRange(expected))
    return success();
  auto error = op.emitOpError() << "the region '" << name << "' must yield ";
  llvm::interleaveComma(expected, error);
  error << ", found ";
  llvm::interleaveComma(yielded, error);
  return error;
}

/// `type` must be `[samples, ...]` with `size` elements per sample.
static LogicalResult verifyRows(LinkOp op, StringRef what, RankedTensorType type, int64_t size) {
  ArrayRef<int64_t> sample = type.getShape().drop_front(type.getRank() > 0 ? 1 : 0);
  if (type.getRank() >= 2 && !ShapedType::isDynamicShape(sample) &&
      ShapedType::getNumElements(sample) == size)
    return success();
  return op.emitOpError() << what << " must be [samples, ...] with the " << size
                          << " elements of the jacobian for each sample, found " << type;
}

LogicalResult LinkOp::verify() {
  auto cotangent = cast<RankedTensorType>(getCotangent().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  Operation *yield = getJacobian().front().getTerminator();
  auto type = yield->getNumOperands() == 0 ? MatrixType()
                                           : dyn_cast<MatrixType>(yield->getOperand(0).getType());
  if (!type)
    return emitOpError("the region 'jacobian' must yield the transposed jacobian first; create it "
                       "with jacobian.assemble");
  if (failed(verifyRegion(*this, getRule(), "rule", result)) ||
      failed(verifyRegion(*this, getJacobian(), "jacobian", type)) ||
      failed(verifyRows(*this, "the cotangent", cotangent, type.getCols())) ||
      failed(verifyRows(*this, "the result", result, type.getRows())))
    return failure();
  if (cotangent.getDimSize(0) != result.getDimSize(0))
    return emitOpError() << "the cotangent and the result must have the same samples, found "
                         << cotangent << " and " << result;
  for (RankedTensorType array : {cotangent, result})
    if (array.getElementType() != type.getElementType())
      return emitOpError()
             << "the cotangent and the result must have the elements of the jacobian, "
             << type.getElementType() << ", found " << array;
  llvm::SetVector<Operation *> needed = getJacobianOps();
  auto isNeeded = [&](Operation *user) {
    return needed.contains(getJacobian().findAncestorOpInRegion(*user));
  };
  if (llvm::any_of(getJacobian().getArgument(0).getUsers(), isNeeded))
    return emitOpError("the jacobian must not depend on the cotangent, which it is applied to");
  return success();
}
