//===- Slices.cpp - slices of arrays --------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Slices.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using namespace bppsa;

Value bppsa::getSize(OpBuilder &builder, Location loc, Value array, int64_t dim) {
  if (auto memory = array.getDefiningOp<memref::AllocOp>())
    return getValueOrCreateConstantIndexOp(builder, loc, memory.getMixedSizes()[dim]);
  return getDim(builder, loc, array, dim);
}

Value bppsa::emitStepBytes(OpBuilder &builder, Location loc, Value array, int64_t dim) {
  auto type = cast<MemRefType>(array.getType());
  Value bytes = getIndex(builder, loc, std::max(1u, type.getElementTypeBitWidth() / 8));
  for (int64_t other = 0; other < type.getRank(); ++other)
    if (other != dim)
      bytes = mulIndex(builder, loc, bytes, getSize(builder, loc, array, other));
  return bytes;
}

Value bppsa::allocateLike(OpBuilder &builder, Location loc, Value array, int64_t dim, Value count) {
  auto type = cast<MemRefType>(array.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = ShapedType::kDynamic;
  SmallVector<Value> sizes;
  for (int64_t other = 0, e = shape.size(); other < e; ++other)
    if (ShapedType::isDynamic(shape[other]))
      sizes.push_back(other == dim ? count : getSize(builder, loc, array, other));
  auto memory = array.getDefiningOp<memref::AllocOp>();
  return memref::AllocOp::create(builder, loc, MemRefType::get(shape, type.getElementType()), sizes,
                                 memory ? memory.getAlignmentAttr()
                                        : builder.getI64IntegerAttr(64));
}

memref::SubViewOp bppsa::emitSlice(OpBuilder &builder, Location loc, Value array, int64_t dim,
                                   OpFoldResult first, OpFoldResult count) {
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(builder, loc, array);
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      strides(sizes.size(), builder.getIndexAttr(1));
  offsets[dim] = first;
  sizes[dim] = count;
  return memref::SubViewOp::create(builder, loc, array, offsets, sizes, strides);
}
