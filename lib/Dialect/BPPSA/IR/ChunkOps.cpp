//===- ChunkOps.cpp - chunks of time in SIMD lanes ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

using namespace mlir;
using namespace bppsa;

static LogicalResult verifyChunks(Operation *op, Type plainType, Type packedType, int64_t lanes) {
  if (lanes <= 0)
    return op->emitOpError() << "lanes must be positive, found " << lanes;
  auto plain = cast<ShapedType>(plainType), packed = cast<ShapedType>(packedType);
  if (plain.getRank() != 4 || plain.getShape().back() != 1)
    return op->emitOpError() << "cuts sequences of one lane, [B, T, N, 1], into chunks, found "
                             << plain << "; pack it into one lane first";
  if (packed.getRank() != 4 || packed.getShape().back() != lanes ||
      packed.getDimSize(2) != plain.getDimSize(2) ||
      packed.getElementType() != plain.getElementType())
    return op->emitOpError() << "chunks of " << plain << " must be an array of rank 4 of "
                             << plain.getDimSize(2) << " values in " << lanes << " lanes, found "
                             << packed;
  return success();
}

LogicalResult PackChunksOp::verify() {
  FailureOr<ShapedType> packed = getWrittenType(*this, getDestination());
  if (failed(packed))
    return failure();
  return verifyChunks(*this, getSource().getType(), *packed, getLanes());
}

LogicalResult UnpackChunksOp::verify() {
  Type plain = getDestination().getType();
  if (failed(verifyTiedResult(*this, plain)))
    return failure();
  return verifyChunks(*this, plain, getSource().getType(), getLanes());
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

LogicalResult PackChunksOp::reifyResultShapes(OpBuilder &builder,
                                              ReifiedRankedShapedTypeDims &shapes) {
  if (getNumResults() == 0)
    return success();
  Location loc = getLoc();
  auto type = cast<RankedTensorType>(getResult().getType());
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : type.getShape())
    sizes.push_back(builder.getIndexAttr(size));
  if (type.isDynamicDim(0)) {
    Value samples = tensor::DimOp::create(builder, loc, getSource(), 0);
    Value steps = tensor::DimOp::create(builder, loc, getSource(), 1);
    Value chunks = arith::DivUIOp::create(builder, loc, steps, getSteps());
    Value rows = arith::MulIOp::create(builder, loc, samples, chunks);
    Value lanes = arith::ConstantIndexOp::create(builder, loc, getLanes());
    sizes[0] = arith::CeilDivUIOp::create(builder, loc, rows, lanes).getResult();
  }
  if (type.isDynamicDim(1))
    sizes[1] = getSteps();
  shapes.push_back(sizes);
  return success();
}

LogicalResult UnpackChunksOp::reifyResultShapes(OpBuilder &builder,
                                                ReifiedRankedShapedTypeDims &shapes) {
  if (getNumResults() == 1)
    shapes.push_back(tensor::getMixedSizes(builder, getLoc(), getDestination()));
  return success();
}
