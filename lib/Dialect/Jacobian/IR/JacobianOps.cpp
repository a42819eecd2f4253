//===- JacobianOps.cpp - products of Jacobians ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"
#include "bppsa/Support/DestinationOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;
using namespace bppsa::jacobian;

#define GET_OP_CLASSES
#include "bppsa/Dialect/Jacobian/IR/JacobianOps.cpp.inc"

/// The matrix has a batch if and only if it depends on the sample.
static LogicalResult verifyLinearizedStates(LinearizeOp op) {
  Block &body = op.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  auto type = cast<MatrixType>(op.getResult().getType());
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
    return op.emitOpError()
           << "needs a jacobian with a batch if and only if it reads saved arrays, found " << type
           << " and " << op.getSaved().size() << " saved arrays";
  return success();
}

LogicalResult jacobian::verifyVectorCapture(Operation *op, ShapedType type, Type bodyType) {
  if (!type.hasStaticShape() || type.getRank() < 1 || type.getRank() > 2)
    return op->emitOpError() << "a capture must be a static vector or matrix, found " << type;
  auto expected = VectorType::get(type.getShape(), type.getElementType());
  if (bodyType != expected)
    return op->emitOpError() << "capture " << type << " needs a body argument of type " << expected
                             << ", found " << bodyType;
  return success();
}

LogicalResult LinearizeOp::verify() {
  Block &body = getBody().front();
  int64_t size = 0;
  for (int64_t state : getStates())
    size += state;
  auto type = cast<MatrixType>(getResult().getType());
  if (type.getRows() != size || type.getCols() != size)
    return emitOpError() << "states of " << size << " values in all need a " << size << "x" << size
                         << " jacobian, found " << type;
  size_t expected = getSaved().size() + getStates().size() + getCaptures().size();
  if (body.getNumArguments() != expected)
    return emitOpError() << "body must have " << expected
                         << " arguments, one for each saved array, state and capture, found "
                         << body.getNumArguments();
  for (auto [i, value] : llvm::enumerate(getSaved())) {
    auto shaped = cast<ShapedType>(value.getType());
    if (shaped.getRank() != 2 ||
        body.getArgument(i).getType() !=
            VectorType::get(shaped.getShape().back(), shaped.getElementType()))
      return emitOpError() << "saved array " << shaped
                           << " must have rank 2 and give a vector of its last dimension, found "
                           << body.getArgument(i).getType();
  }
  for (auto [value, argument] :
       llvm::zip_equal(getCaptures(), body.getArguments().take_back(getCaptures().size())))
    if (failed(verifyVectorCapture(*this, cast<ShapedType>(value.getType()), argument.getType())))
      return failure();
  return verifyLinearizedStates(*this);
}

LogicalResult ComposeOp::verify() {
  auto first = cast<MatrixType>(getFirst().getType());
  auto second = cast<MatrixType>(getSecond().getType());
  auto result = cast<MatrixType>(getType());
  if (second.getCols() != first.getRows())
    return emitOpError() << "the second jacobian must have as many columns as the first has rows ("
                         << first.getRows() << "), found " << second.getCols();
  if (result.getRows() != second.getRows() || result.getCols() != first.getCols())
    return emitOpError() << "the product must be " << second.getRows() << "x" << first.getCols()
                         << ", found " << result.getRows() << "x" << result.getCols();
  if (result.getBatch().has_value() != (first.getBatch() || second.getBatch()))
    return emitOpError() << "needs a product with a batch if and only if a factor has one, found "
                         << result;
  StructureAttr structure = MatrixType::compose(first, second).getStructure();
  if (result.getStructure() != structure && !result.getStructure().is(StructureKind::Dense))
    return emitOpError() << "the product of " << second.getStructure().toString() << " and "
                         << first.getStructure().toString() << " is " << structure.toString()
                         << ", found " << result.getStructure().toString();
  return success();
}

LogicalResult ApplyOp::verify() {
  auto jacobian = cast<MatrixType>(getJacobian().getType());
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

LogicalResult AssembleOp::verify() {
  auto type = cast<MatrixType>(getResult().getType());
  auto source = cast<RankedTensorType>(getSource().getType());
  if (source.getElementType() != type.getElementType())
    return emitOpError() << "needs a source of " << type.getElementType() << ", found " << source;
  if (type.getStructure().is(StructureKind::Identity))
    return emitOpError("an identity has no values to assemble");
  if (type.getBatch() && source.getRank() != 2)
    return emitOpError()
           << "a jacobian with a batch needs a source of shape [batch, values], found " << source;
  if (type.getBatch() && *type.getBatch() != source.getDimSize(0))
    return emitOpError() << "needs a source of as many samples as the jacobian has, found "
                         << source << " for " << *type.getBatch();
  ArrayRef<int64_t> shape = source.getShape().drop_front(type.getBatch() ? 1 : 0);
  if (llvm::any_of(shape, ShapedType::isDynamic))
    return emitOpError() << "needs a static number of values, found " << source;
  int64_t numValues = ShapedType::getNumElements(shape);
  int64_t numEntries = type.computePattern().getNumEntries();
  if (!getPositions()) {
    if (numValues != numEntries)
      return emitOpError() << "needs a source of " << numEntries << " values, found " << numValues;
    return success();
  }
  if (int64_t(getPositions()->size()) != numEntries)
    return emitOpError() << "needs a position for each of " << numEntries << " entries, found "
                         << getPositions()->size();
  ArrayRef<int32_t> positions = *getPositions();
  for (int32_t position : positions)
    if (position < 0 || position >= numValues)
      return emitOpError() << "position " << position << " is not one of " << numValues
                           << " values of the source";
  return success();
}

OpFoldResult ComposeOp::fold(FoldAdaptor) {
  for (Value factor : {getFirst(), getSecond()})
    if (cast<MatrixType>(factor.getType()).getStructure().is(StructureKind::Zero) &&
        factor.getType() == getType())
      return factor;
  if (getFirst().getType().getStructure().is(StructureKind::Identity) &&
      getSecond().getType() == getType())
    return getSecond();
  if (getSecond().getType().getStructure().is(StructureKind::Identity) &&
      getFirst().getType() == getType())
    return getFirst();
  return {};
}

OpFoldResult ApplyOp::fold(FoldAdaptor) {
  if (getJacobian().getType().getStructure().is(StructureKind::Identity) &&
      getCotangent().getType() == getType())
    return getCotangent();
  return {};
}

LogicalResult ApplyOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  auto getSize = [&](int64_t dim) {
    return dim == 0 ? tensor::getMixedSize(builder, getLoc(), getCotangent(), 0) : OpFoldResult();
  };
  return reifyOnlyShape(*this, getSize, shapes);
}
