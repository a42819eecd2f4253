//===- ScanTreeVerifiers.cpp - ops of an explicit scan tree ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Verifiers.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

using namespace mlir;
using namespace bppsa;

/// Checks the cotangents that the link of `op` takes and yields, and that there
/// is one matrix a sample exactly where it depends on the sample.
static LogicalResult verifyLinearizedStates(LinearizeOp op) {
  Block &body = op.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  auto type = cast<JacobianType>(op.getResult().getType());
  if (yield.getNumOperands() != op.getStates().size())
    return op.emitOpError() << "must yield the cotangents of " << op.getStates().size()
                            << " states and nothing else, found " << yield.getNumOperands()
                            << " values";
  for (auto [i, size] : llvm::enumerate(op.getStates())) {
    auto expected = VectorType::get(size, type.getElementType());
    Type taken = body.getArgument(op.getSaved().size() + i).getType();
    Type given = yield.getOperand(i).getType();
    if (taken != expected || given != expected)
      return op.emitOpError() << "the cotangent of state " << i << " must have type " << expected
                              << ", found " << taken << " to " << given;
  }
  if (type.getBatch().has_value() == op.getSaved().empty())
    return op.emitOpError() << "needs a jacobian with a batch exactly where it reads saved arrays, "
                               "found "
                            << type << " and " << op.getSaved().size() << " saved arrays";
  return success();
}

LogicalResult LinearizeOp::verify() {
  Block &body = getBody().front();
  int64_t size = 0;
  for (int64_t state : getStates())
    size += state;
  auto type = cast<JacobianType>(getResult().getType());
  if (type.getRows() != size || type.getCols() != size)
    return emitOpError() << "states of " << size << " values in all need a " << size << "x" << size
                         << " jacobian, found " << type;
  if (failed(verifyArgumentCount(*this, body,
                                 getSaved().size() + getStates().size() + getCaptures().size())))
    return failure();
  for (auto [i, value] : llvm::enumerate(getSaved())) {
    auto shaped = cast<ShapedType>(value.getType());
    if (shaped.getRank() != 2 ||
        body.getArgument(i).getType() !=
            VectorType::get(shaped.getShape().back(), shaped.getElementType()))
      return emitOpError() << "saved array " << shaped
                           << " must have rank 2 and give a vector of its last dimension, found "
                           << body.getArgument(i).getType();
  }
  for (auto [i, value] : llvm::enumerate(getCaptures()))
    if (failed(
            verifyCapture(*this, value.getType(),
                          body.getArgument(getSaved().size() + getStates().size() + i).getType())))
      return failure();
  return verifyLinearizedStates(*this);
}

LogicalResult ComposeOp::verify() {
  auto first = cast<JacobianType>(getFirst().getType());
  auto second = cast<JacobianType>(getSecond().getType());
  auto result = cast<JacobianType>(getType());
  if (second.getCols() != first.getRows())
    return emitOpError() << "the second jacobian must have as many columns as the first has rows ("
                         << first.getRows() << "), found " << second.getCols();
  if (result.getRows() != second.getRows() || result.getCols() != first.getCols())
    return emitOpError() << "the product must be " << second.getRows() << "x" << first.getCols()
                         << ", found " << result.getRows() << "x" << result.getCols();
  if (result.getBatch().has_value() != (first.getBatch() || second.getBatch()))
    return emitOpError() << "the product has a batch exactly where a factor has one, found "
                         << result;
  StructureAttr structure = JacobianType::compose(first, second).getStructure();
  if (result.getStructure() != structure && !result.getStructure().is(StructureKind::Dense))
    return emitOpError() << "the product of " << second.getStructure().toString() << " and "
                         << first.getStructure().toString() << " is " << structure.toString()
                         << ", found " << result.getStructure().toString();
  return success();
}

LogicalResult ApplyOp::verify() {
  auto jacobian = cast<JacobianType>(getJacobian().getType());
  auto cotangent = cast<RankedTensorType>(getCotangent().getType());
  auto result = cast<RankedTensorType>(getType());
  if (cotangent.getRank() != 2 || cotangent.getDimSize(1) != jacobian.getCols())
    return emitOpError() << "needs a cotangent of shape [batch, " << jacobian.getCols()
                         << "], found " << cotangent;
  if (result.getRank() != 2 || result.getDimSize(1) != jacobian.getRows() ||
      result.getDimSize(0) != cotangent.getDimSize(0))
    return emitOpError() << "needs a result of shape [batch, " << jacobian.getRows() << "], found "
                         << result;
  return success();
}
