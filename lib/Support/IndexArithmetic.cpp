//===- IndexArithmetic.cpp - arithmetic on indices and views --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/IndexArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace bppsa;

Value bppsa::getIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value bppsa::addIndex(OpBuilder &builder, Location loc, Value value, int64_t offset) {
  if (offset == 0)
    return value;
  return builder.createOrFold<arith::AddIOp>(loc, value, getIndex(builder, loc, offset));
}

Value bppsa::addIndex(OpBuilder &builder, Location loc, Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}

Value bppsa::mulIndex(OpBuilder &builder, Location loc, Value a, Value b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, b);
}

Value bppsa::minIndex(OpBuilder &builder, Location loc, Value a, Value b) {
  return builder.createOrFold<arith::MinUIOp>(loc, a, b);
}

Value bppsa::getDim(OpBuilder &builder, Location loc, Value array, int64_t dimension) {
  return builder.createOrFold<memref::DimOp>(loc, array, dimension);
}

SmallVector<Value> bppsa::splitIndex(OpBuilder &builder, Location loc, Value value,
                                     ValueRange sizes) {
  SmallVector<Value> digits(sizes.size());
  for (size_t i = sizes.size(); i-- > 1;) {
    digits[i] = builder.createOrFold<arith::RemUIOp>(loc, value, sizes[i]);
    value = builder.createOrFold<arith::DivUIOp>(loc, value, sizes[i]);
  }
  if (!digits.empty())
    digits[0] = value;
  return digits;
}

Value bppsa::viewElements(OpBuilder &builder, Location loc, Value array, OpFoldResult offset,
                          Value count) {
  auto type = MemRefType::get(
      {ShapedType::kDynamic}, cast<MemRefType>(array.getType()).getElementType(),
      StridedLayoutAttr::get(builder.getContext(), ShapedType::kDynamic, ArrayRef<int64_t>(1)));
  return memref::ReinterpretCastOp::create(builder, loc, type, array, offset,
                                           ArrayRef<OpFoldResult>(count),
                                           ArrayRef<OpFoldResult>(builder.getIndexAttr(1)));
}

Value bppsa::viewSlot(OpBuilder &builder, Location loc, Value arrays, Value slot) {
  auto type = cast<MemRefType>(arrays.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      strides(type.getRank(), builder.getIndexAttr(1)), sizes;
  for (int64_t size : type.getShape())
    sizes.push_back(builder.getIndexAttr(size));
  offsets[0] = slot;
  sizes[0] = builder.getIndexAttr(1);
  MemRefType own = memref::SubViewOp::inferRankReducedResultType(type.getShape().drop_front(), type,
                                                                 offsets, sizes, strides);
  return memref::SubViewOp::create(builder, loc, own, arrays, offsets, sizes, strides);
}

Value bppsa::flatten(OpBuilder &builder, Location loc, Value array, OpFoldResult skipped) {
  Value count = getIndex(builder, loc, 1);
  for (int64_t i = 0, e = cast<MemRefType>(array.getType()).getRank(); i < e; ++i)
    count = mulIndex(builder, loc, count, getDim(builder, loc, array, i));
  count = builder.createOrFold<arith::SubIOp>(
      loc, count, getValueOrCreateConstantIndexOp(builder, loc, skipped));
  return viewElements(builder, loc, array, skipped, count);
}
