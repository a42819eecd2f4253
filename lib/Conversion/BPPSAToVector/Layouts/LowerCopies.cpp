//===- LowerCopies.cpp - copies between subviews --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../BPPSAToVector.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

static bool copiesParts(memref::CopyOp op) {
  auto isRanked = [](Value array) { return isa<MemRefType>(array.getType()); };
  auto isPart = [](Value array) {
    return !cast<MemRefType>(array.getType()).getLayout().isIdentity();
  };
  return isRanked(op.getSource()) && isRanked(op.getTarget()) &&
         (isPart(op.getSource()) || isPart(op.getTarget()));
}

/// Returns null if the last dimension cannot be copied as a vector.
static VectorType getCopiedRow(memref::CopyOp op) {
  auto isRows = [](MemRefType type) {
    return type.getRank() > 1 && type.isLastDimUnitStride() &&
           !ShapedType::isDynamic(type.getShape().back());
  };
  auto type = cast<MemRefType>(op.getSource().getType());
  if (!isRows(type) || !isRows(cast<MemRefType>(op.getTarget().getType())))
    return {};
  return VectorType::get(type.getShape().back(), type.getElementType());
}

static void emitOverRows(OpBuilder &builder, Location loc, Value array, SmallVector<Value> indices,
                         int64_t inner, function_ref<void(OpBuilder &, ArrayRef<Value>)> body) {
  int64_t dim = indices.size();
  if (dim + inner == cast<MemRefType>(array.getType()).getRank())
    return body(builder, indices);
  emitFor(builder, loc, getIndex(builder, loc, 0), getDim(builder, loc, array, dim), 1,
          [&](OpBuilder &nested, Value index) {
            SmallVector<Value> further = indices;
            further.push_back(index);
            emitOverRows(nested, loc, array, further, inner, body);
          });
}

void bppsa::lowerCopies(Operation *root) {
  SmallVector<memref::CopyOp> copies;
  root->walk([&](memref::CopyOp op) {
    if (copiesParts(op))
      copies.push_back(op);
  });
  for (memref::CopyOp op : copies) {
    Location loc = op.getLoc();
    VectorType row = getCopiedRow(op);
    OpBuilder builder(op);
    emitOverRows(builder, loc, op.getSource(), {}, row ? 1 : 0,
                 [&](OpBuilder &nested, ArrayRef<Value> indices) {
                   if (!row) {
                     Value value = memref::LoadOp::create(nested, loc, op.getSource(), indices);
                     memref::StoreOp::create(nested, loc, value, op.getTarget(), indices);
                     return;
                   }
                   SmallVector<Value> at(indices);
                   at.push_back(getIndex(nested, loc, 0));
                   Value value = vector::LoadOp::create(nested, loc, row, op.getSource(), at);
                   vector::StoreOp::create(nested, loc, value, op.getTarget(), at);
                 });
    op.erase();
  }
}
