//===- SparseMatrices.cpp - access to sparse matrices ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SparseMatrices.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace bppsa;

Value bppsa::loadIndex(OpBuilder &builder, Location loc, Value indices, Value at) {
  Value index = memref::LoadOp::create(builder, loc, indices, at);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), index);
}

Value bppsa::loadSamples(OpBuilder &builder, Location loc, Value array, Value row,
                         const SampleBlock &block) {
  auto type = cast<MemRefType>(array.getType());
  if (type.getRank() == 2 && block.width > 1)
    return vector::LoadOp::create(builder, loc,
                                  cast<VectorType>(block.getType(type.getElementType())), array,
                                  ValueRange{row, block.first});
  if (type.getRank() == 2)
    return memref::LoadOp::create(builder, loc, array, ValueRange{row, block.first});
  Value value = memref::LoadOp::create(builder, loc, array, row);
  if (block.width == 1)
    return value;
  return vector::BroadcastOp::create(builder, loc, block.getType(type.getElementType()), value);
}

void bppsa::storeSamples(OpBuilder &builder, Location loc, Value value, Value array, Value row,
                         const SampleBlock &block) {
  SmallVector<Value> at = {row};
  if (cast<MemRefType>(array.getType()).getRank() == 2)
    at.push_back(block.first);
  if (isa<VectorType>(value.getType()))
    vector::StoreOp::create(builder, loc, value, array, at);
  else
    memref::StoreOp::create(builder, loc, value, array, at);
}

Value bppsa::multiplyAdd(OpBuilder &builder, Location loc, Value lhs, Value rhs, Value sum) {
  if (isa<VectorType>(sum.getType()))
    return vector::FMAOp::create(builder, loc, lhs, rhs, sum);
  return math::FmaOp::create(builder, loc, lhs, rhs, sum);
}

Value MatrixReader::getStart(OpBuilder &builder, Location loc, Value row) const {
  return starts
             ? loadIndex(builder, loc, starts, row)
             : arith::MulIOp::create(builder, loc, row, getIndex(builder, loc, cols)).getResult();
}

Value MatrixReader::getColumn(OpBuilder &builder, Location loc, Value entry, Value start) const {
  return columns ? loadIndex(builder, loc, columns, entry)
                 : arith::SubIOp::create(builder, loc, entry, start).getResult();
}

Value MatrixReader::load(OpBuilder &builder, Location loc, Value entry,
                         const SampleBlock &block) const {
  Value at = positions ? loadIndex(builder, loc, positions, entry) : entry;
  return loadSamples(builder, loc, values, at, block);
}

Value bppsa::getNumSamples(OpBuilder &builder, Location loc, ArrayRef<Value> arrays) {
  for (Value array : arrays)
    if (cast<MemRefType>(array.getType()).getRank() == 2)
      return getDim(builder, loc, array, 1);
  return {};
}
