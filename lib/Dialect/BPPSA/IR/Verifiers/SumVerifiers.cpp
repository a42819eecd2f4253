//===- SumVerifiers.cpp - verifiers of sums and packing -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

using namespace mlir;
using namespace bppsa;

/// Returns N of a sequence `[T, B, N]` or `[NB, T, N, L]`. Fails with a diagnostic otherwise.
static FailureOr<int64_t> getSequenceFeatures(Operation *op, Type type,
                                              std::optional<int64_t> lanes) {
  auto shaped = cast<ShapedType>(type);
  int64_t rank = lanes ? 4 : 3;
  if (shaped.getRank() != rank || (lanes && shaped.getShape().back() != *lanes)) {
    InFlightDiagnostic diagnostic = op->emitOpError() << "a sequence must have rank " << rank;
    if (lanes)
      diagnostic << " and " << *lanes << " lanes in its last dimension";
    diagnostic << ", found " << type;
    return failure();
  }
  return shaped.getShape()[2];
}

/// Only packed sequences are given their number of samples.
template <typename SumOp> static LogicalResult verifyBatch(SumOp op) {
  if (op.getBatch() && !op.getLanes())
    return op.emitOpError("has a batch but no lanes; a plain sequence has its number of samples "
                          "in its type");
  return success();
}

LogicalResult OuterSumOp::verify() {
  FailureOr<ShapedType> result = getWrittenType(*this, getDestination());
  FailureOr<int64_t> rows = getSequenceFeatures(*this, getLhs().getType(), getLanes());
  FailureOr<int64_t> cols = getSequenceFeatures(*this, getRhs().getType(), getLanes());
  if (failed(result) || failed(rows) || failed(cols) || failed(verifyBatch(*this)))
    return failure();
  if (result->getRank() != 2 || result->getShape()[0] != *rows || result->getShape()[1] != *cols)
    return emitOpError() << "needs a result of shape " << *rows << "x" << *cols << ", found "
                         << *result;
  return success();
}

LogicalResult StepSumOp::verify() {
  FailureOr<ShapedType> result = getWrittenType(*this, getDestination());
  FailureOr<int64_t> features = getSequenceFeatures(*this, getSequence().getType(), getLanes());
  if (failed(result) || failed(features) || failed(verifyBatch(*this)))
    return failure();
  if (result->getRank() != 1 || result->getShape()[0] != *features)
    return emitOpError() << "needs a result of shape " << *features << ", found " << *result;
  return success();
}

LogicalResult ReduceSumsOp::verify() {
  if (getSums().empty() == getDestinations().empty())
    return emitOpError("must have either results or destinations");
  auto parts = cast<ShapedType>(getParts().getType());
  if (parts.getRank() != 3)
    return emitOpError() << "parts of sums must have rank 3, found " << parts;
  ValueRange written = getSums().empty() ? ValueRange(getDestinations()) : ValueRange(getSums());
  int64_t numElements = 0;
  for (Value sum : written) {
    auto type = cast<ShapedType>(sum.getType());
    if (!type.hasStaticShape() || type.getRank() < 1 || type.getRank() > 2 ||
        type.getElementType() != parts.getElementType())
      return emitOpError() << "a sum must be a vector or a matrix of static shape of "
                           << parts.getElementType() << ", found " << type;
    numElements += type.getNumElements();
  }
  if (parts.getShape().back() != numElements)
    return emitOpError() << "must have " << numElements << " elements of sums in each part, found "
                         << parts;
  return success();
}

static LogicalResult verifyPacking(Operation *op, ShapedType plain, ShapedType packed,
                                   int64_t lanes) {
  if (lanes <= 0)
    return op->emitOpError() << "lanes must be positive, found " << lanes;
  int64_t rank = plain.getRank();
  if (rank != 2 && rank != 3)
    return op->emitOpError() << "packs arrays of rank 2 or 3, found " << plain;
  int64_t batch = plain.getShape()[rank - 2];
  SmallVector<int64_t> expected = {ShapedType::isDynamic(batch) ? ShapedType::kDynamic
                                                                : (batch + lanes - 1) / lanes};
  if (rank == 3)
    expected.push_back(plain.getShape()[0]);
  expected.append({plain.getShape().back(), lanes});
  if (packed.getShape() != ArrayRef<int64_t>(expected) ||
      packed.getElementType() != plain.getElementType())
    return op->emitOpError() << plain << " in " << lanes << " lanes is packed as "
                             << RankedTensorType::get(expected, plain.getElementType())
                             << ", found " << packed;
  return success();
}

LogicalResult PackLanesOp::verify() {
  FailureOr<ShapedType> result = getWrittenType(*this, getDestination());
  if (failed(result))
    return failure();
  return verifyPacking(*this, cast<ShapedType>(getSource().getType()), *result, getLanes());
}

LogicalResult UnpackLanesOp::verify() {
  FailureOr<ShapedType> result = getWrittenType(*this, getDestination());
  if (failed(result))
    return failure();
  return verifyPacking(*this, *result, cast<ShapedType>(getSource().getType()), getLanes());
}
