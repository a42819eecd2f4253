//===- SparseProductOps.cpp - sparse Jacobian products --------------------===//
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

namespace {
struct MatrixOperands {
  StringRef name;
  Value values, starts, columns, positions;
  int64_t rows, cols;
};
} // namespace

/// `indices` may be absent. A negative `expected` allows any size.
static LogicalResult verifyIndices(Operation *op, StringRef what, Value indices, int64_t expected) {
  if (!indices)
    return success();
  auto type = cast<ShapedType>(indices.getType());
  if (type.getRank() != 1 || (expected >= 0 && type.getDimSize(0) != expected))
    return op->emitOpError() << what << " must have rank 1"
                             << (expected >= 0 ? " and size " + std::to_string(expected) : "")
                             << ", found " << type;
  return success();
}

static LogicalResult verifyMatrix(Operation *op, const MatrixOperands &matrix) {
  if (!matrix.starts != !matrix.columns)
    return op->emitOpError() << matrix.name << " needs starts of rows and columns, or neither";
  if (failed(verifyIndices(op, "starts of rows", matrix.starts, matrix.rows + 1)))
    return failure();
  int64_t entries = matrix.rows * matrix.cols;
  if (matrix.columns) {
    if (failed(verifyIndices(op, "columns", matrix.columns, -1)))
      return failure();
    entries = cast<ShapedType>(matrix.columns.getType()).getDimSize(0);
    if (ShapedType::isDynamic(entries))
      return op->emitOpError() << "needs a static number of columns of entries, found "
                               << matrix.columns.getType();
  }
  if (failed(verifyIndices(op, "positions", matrix.positions, entries)))
    return failure();
  auto values = cast<ShapedType>(matrix.values.getType());
  if (values.getRank() != 1 && values.getRank() != 2)
    return op->emitOpError() << "values of " << matrix.name
                             << " must have shape [values] or [values, batch], found " << values;
  if (!matrix.positions && values.getDimSize(0) != entries)
    return op->emitOpError() << matrix.name << " has " << entries << " entries, found "
                             << values.getDimSize(0) << " values";
  return success();
}

/// Checks that all value arrays have the same element type and the same number of samples.
static LogicalResult verifyAlike(Operation *op, ArrayRef<ShapedType> arrays) {
  int64_t samples = ShapedType::kDynamic;
  for (ShapedType type : arrays) {
    if (type.getElementType() != arrays.front().getElementType())
      return op->emitOpError() << "needs values of one type, found " << arrays.front() << " and "
                               << type;
    if (type.getRank() != 2 || type.isDynamicDim(1))
      continue;
    if (!ShapedType::isDynamic(samples) && type.getDimSize(1) != samples)
      return op->emitOpError() << "needs as many samples in every array, found " << samples
                               << " and " << type.getDimSize(1);
    samples = type.getDimSize(1);
  }
  return success();
}

LogicalResult SparseApplyOp::verify() {
  FailureOr<ShapedType> result = getWrittenType(*this, getDestination());
  if (failed(result))
    return failure();
  auto cotangent = cast<ShapedType>(getCotangent().getType());
  if (cotangent.getRank() != 2 || result->getRank() != 2 ||
      cotangent.getDimSize(1) != result->getDimSize(1))
    return emitOpError() << "needs a cotangent and a result of shape [values, batch], found "
                         << cotangent << " and " << *result;
  if (failed(verifyAlike(*this, {cast<ShapedType>(getValues().getType()), cotangent, *result})))
    return failure();
  return verifyMatrix(*this, {"the matrix", getValues(), getStarts(), getColumns(), getPositions(),
                              result->getDimSize(0), cotangent.getDimSize(0)});
}

LogicalResult SparseComposeOp::verify() {
  FailureOr<ShapedType> result = getWrittenType(*this, getDestination());
  if (failed(result) ||
      failed(
          verifyMatrix(*this, {"the first matrix", getFirst(), getFirstStarts(), getFirstColumns(),
                               getFirstPositions(), int64_t(getInner()), int64_t(getCols())})) ||
      failed(verifyMatrix(*this,
                          {"the second matrix", getSecond(), getSecondStarts(), getSecondColumns(),
                           getSecondPositions(), int64_t(getRows()), int64_t(getInner())})))
    return failure();
  if (failed(verifyAlike(*this, {cast<ShapedType>(getFirst().getType()),
                                 cast<ShapedType>(getSecond().getType()), *result})))
    return failure();
  int64_t rank = std::max(cast<ShapedType>(getFirst().getType()).getRank(),
                          cast<ShapedType>(getSecond().getType()).getRank());
  if (result->getRank() != rank)
    return emitOpError() << "needs a result of rank " << rank << ", found " << *result;
  Value written = getDestination() ? Value(getDestination()) : Value(getResult());
  return verifyMatrix(*this, {"the product", written, getResultStarts(), getResultColumns(),
                              Value(), int64_t(getRows()), int64_t(getCols())});
}

LogicalResult SparseOuterSumOp::verify() {
  FailureOr<ShapedType> result = getWrittenType(*this, getDestination());
  if (failed(result))
    return failure();
  auto lhs = cast<ShapedType>(getLhs().getType()), rhs = cast<ShapedType>(getRhs().getType());
  if (lhs.getRank() != 2 || rhs.getRank() != 2 || lhs.getDimSize(1) != rhs.getDimSize(1))
    return emitOpError() << "needs operands of shape [values, batch], found " << lhs << " and "
                         << rhs;
  if (failed(verifyAlike(*this, {lhs, rhs, *result})))
    return failure();
  if (result->getRank() != 1)
    return emitOpError() << "needs a result of rank 1, found " << *result;
  auto getSize = [](Value indices) { return cast<ShapedType>(indices.getType()).getDimSize(0); };
  if (failed(
          verifyIndices(*this, "rows of the right operand", getRhsRows(), getSize(getLhsRows()))) ||
      failed(verifyIndices(*this, "rows of the left operand", getLhsRows(), -1)) ||
      failed(verifyIndices(*this, "positions", getPositions(), -1)))
    return failure();
  return verifyIndices(*this, "starts", getStarts(), getSize(getPositions()) + 1);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

LogicalResult SparseApplyOp::reifyResultShapes(OpBuilder &builder,
                                               ReifiedRankedShapedTypeDims &shapes) {
  auto getSize = [&](int64_t dim) {
    return dim == 1 ? tensor::getMixedSize(builder, getLoc(), getCotangent(), 1) : OpFoldResult();
  };
  return reifyOnlyShape(*this, getSize, shapes);
}

LogicalResult SparseComposeOp::reifyResultShapes(OpBuilder &builder,
                                                 ReifiedRankedShapedTypeDims &shapes) {
  auto getSize = [&](int64_t dim) -> OpFoldResult {
    for (Value factor : {getFirst(), getSecond()})
      if (dim == 1 && cast<ShapedType>(factor.getType()).getRank() == 2)
        return tensor::getMixedSize(builder, getLoc(), factor, 1);
    return {};
  };
  return reifyOnlyShape(*this, getSize, shapes);
}

LogicalResult SparseOuterSumOp::reifyResultShapes(OpBuilder &,
                                                  ReifiedRankedShapedTypeDims &shapes) {
  return reifyOnlyShape(*this, [](int64_t) { return OpFoldResult(); }, shapes);
}
