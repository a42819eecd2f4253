//===- Collectives.cpp - collective operations of threads -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace bppsa::bgpu;

static bool combines(vector::CombiningKind kind, Type element) {
  using Kind = vector::CombiningKind;
  switch (kind) {
  case Kind::ADD:
  case Kind::MUL:
    return true;
  case Kind::MINNUMF:
  case Kind::MAXNUMF:
  case Kind::MINIMUMF:
  case Kind::MAXIMUMF:
    return isa<FloatType>(element);
  default:
    return element.isIntOrIndex();
  }
}

LogicalResult ReduceOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  if (tile.getRank() == 0 || !llvm::isPowerOf2_64(tile.getDimSize(0)))
    return emitOpError("needs a power of two of rows, but combines rows of ") << tile;
  if (!combines(getKind(), tile.getElementType()))
    return emitOpError("cannot combine elements of ") << tile << " by this kind";
  SmallVector<int64_t> row(tile.getShape());
  row[0] = 1;
  if (getResult().getType() != tile.clone(row))
    return emitOpError("must give one row of ") << tile << ", but gives " << getResult().getType();
  return success();
}

LogicalResult ReduceAcrossOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  if (tile.getRank() < 2 || getReplicas(tile) != 1 || !areInWarp(tile.getShape().back()))
    return emitOpError("needs rows of 2 to 32 elements, a power of two, one per thread, but "
                       "combines rows of ")
           << tile;
  if (!combines(getKind(), tile.getElementType()) || !tile.getElementType().isIntOrFloat() ||
      tile.getElementTypeBitWidth() != 32)
    return emitOpError("cannot combine elements of ") << tile << " by this kind; they need 32 bits";
  RankedTensorType result =
      getTileType(tile.getShape().drop_back(), tile.getElementType(), tile.getShape().back());
  if (getResult().getType() != result)
    return emitOpError("must give ") << result << ", but gives " << getResult().getType();
  return success();
}

/// Distributes the vector elements of a row over its threads.
static RankedTensorType distributeVector(RankedTensorType tile) {
  auto type = cast<VectorType>(tile.getElementType());
  SmallVector<int64_t> shape(tile.getShape().drop_back());
  shape.push_back(type.getNumElements());
  return bppsa::bgpu::getTileType(shape, type.getElementType(),
                                  tile.getShape().back() / type.getNumElements());
}

void ReduceScatterOp::build(OpBuilder &builder, OperationState &state, vector::CombiningKind kind,
                            Value tile) {
  build(builder, state, distributeVector(cast<RankedTensorType>(tile.getType())), kind, tile);
}

LogicalResult ReduceScatterOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  if (tile.getRank() == 0 || getReplicas(tile) != 1 || !areInWarp(tile.getShape().back()))
    return emitOpError("needs rows of 2 to 32 threads, a power of two, but combines rows of ")
           << tile;
  auto type = dyn_cast<VectorType>(tile.getElementType());
  if (!type || type.getRank() != 1 || type.isScalable() ||
      !llvm::isPowerOf2_64(type.getNumElements()) || type.getNumElements() > tile.getShape().back())
    return emitOpError("needs vectors of a power of two of elements, at most one per thread of a "
                       "row, but combines vectors of ")
           << tile;
  Type element = type.getElementType();
  if (!combines(getKind(), element) || !element.isIntOrFloat() ||
      element.getIntOrFloatBitWidth() != 32)
    return emitOpError("cannot combine elements of ") << tile << " by this kind; they need 32 bits";
  if (getResult().getType() != distributeVector(tile))
    return emitOpError("must give ")
           << distributeVector(tile) << ", but gives " << getResult().getType();
  return success();
}
