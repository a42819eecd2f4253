//===- BPPSAOps.cpp - ops of bodies and graphs ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace bppsa;

#define GET_OP_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSAOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Operations of a body
//===----------------------------------------------------------------------===//

LogicalResult MatVecOp::verify() {
  auto matrix = cast<VectorType>(getMatrix().getType());
  int64_t rows = matrix.getDimSize(getTransposed() ? 1 : 0);
  int64_t cols = matrix.getDimSize(getTransposed() ? 0 : 1);
  auto vector = cast<VectorType>(getVector().getType());
  auto result = cast<VectorType>(getType());
  if (vector.getDimSize(0) != cols || result.getDimSize(0) != rows)
    return emitOpError() << "a " << rows << "x" << cols << (getTransposed() ? " transposed" : "")
                         << " matrix maps vector<" << cols << "> to vector<" << rows << ">, found "
                         << vector << " to " << result;
  if (getAddend() && getAddend().getType() != result)
    return emitOpError() << "the addend must have the type of the result " << result << ", found "
                         << getAddend().getType();
  if (matrix.getElementType() != result.getElementType() ||
      vector.getElementType() != result.getElementType())
    return emitOpError() << "needs one element type, found " << matrix << ", " << vector << " and "
                         << result;
  return success();
}

//===----------------------------------------------------------------------===//
// Operations of a graph
//===----------------------------------------------------------------------===//

LogicalResult RunningStatisticOp::verify() {
  if (!isa<FloatType>(cast<ShapedType>(getRunning().getType()).getElementType()))
    return emitOpError() << "needs float tensors, found " << getRunning().getType();
  return success();
}

LogicalResult DropoutOp::verify() {
  double ratio = getRatio().convertToDouble();
  if (!(ratio >= 0.0 && ratio < 1.0))
    return emitOpError() << "needs a ratio of at least 0 and less than 1, found " << ratio;
  if (!isa<FloatType>(getType().getElementType()))
    return emitOpError() << "needs a float tensor, found " << getType();
  return success();
}
