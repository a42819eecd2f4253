//===- ArrayStack.cpp - stacked arrays ------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ArrayStack.h"

using namespace mlir;
using namespace bppsa;

/// The result is dynamic wherever the types differ.
static MemRefType getCommonType(MemRefType a, MemRefType b) {
  if (a == b)
    return a;
  auto merge = [](int64_t x, int64_t y) { return x == y ? x : ShapedType::kDynamic; };
  auto mergeAll = [&](ArrayRef<int64_t> x, ArrayRef<int64_t> y) {
    return llvm::map_to_vector(llvm::zip_equal(x, y), [&](auto pair) {
      return merge(std::get<0>(pair), std::get<1>(pair));
    });
  };
  auto [strides, offset] = a.getStridesAndOffset();
  auto [otherStrides, otherOffset] = b.getStridesAndOffset();
  auto layout = StridedLayoutAttr::get(a.getContext(), merge(offset, otherOffset),
                                       mergeAll(strides, otherStrides));
  return MemRefType::get(mergeAll(a.getShape(), b.getShape()), a.getElementType(), layout);
}

ArrayStack::ArrayStack(ValueRange arrays, int64_t dim) : arrays(arrays), dim(dim) {
  type = cast<MemRefType>(arrays[0].getType());
  size = type.getDimSize(dim);
  for (Value array : arrays.drop_front()) {
    auto other = cast<MemRefType>(array.getType());
    size += other.getDimSize(dim);
    type = getCommonType(type, other);
  }
}

Value ArrayStack::getDim(OpBuilder &builder, Location loc, int64_t at) const {
  bool isSum = at == dim && arrays.size() > 1;
  return isSum ? getIndex(builder, loc, size) : bppsa::getDim(builder, loc, arrays[0], at);
}

int64_t ArrayStack::getAlignedElements(int64_t most) const {
  for (Value array : arrays)
    most = std::min(most, bppsa::getAlignedElements(cast<MemRefType>(array.getType()), most));
  return most;
}

ArrayStack::Place ArrayStack::find(OpBuilder &builder, Location loc, Value position) const {
  auto getArray = [&](size_t i) -> Value {
    if (arrays[i].getType() == type)
      return arrays[i];
    return memref::CastOp::create(builder, loc, type, arrays[i]);
  };
  Place place = {getArray(0), position};
  int64_t first = 0;
  for (size_t i = 1; i < arrays.size(); ++i) {
    first += cast<MemRefType>(arrays[i - 1].getType()).getDimSize(dim);
    Value isBefore = isBelow(builder, loc, position, getIndex(builder, loc, first));
    Value inArray = addIndex(builder, loc, position, -first);
    place.array = arith::SelectOp::create(builder, loc, isBefore, place.array, getArray(i));
    place.position = arith::SelectOp::create(builder, loc, isBefore, place.position, inArray);
  }
  return place;
}
