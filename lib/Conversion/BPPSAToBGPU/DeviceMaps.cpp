//===- DeviceMaps.cpp - maps g -> A g + s in device memory ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "DeviceMaps.h"
#include "../GPULaunches/Launch.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace bppsa;

Place DeviceMap::getColumn(Value column) const {
  Place place = {memref, {}};
  place.prefix.append(prefix.begin(), prefix.end());
  place.prefix.push_back(column);
  return place;
}

Value DeviceMap::load(OpBuilder &builder, Location loc, Value column, Value row) const {
  if (byRows)
    std::swap(column, row);
  return getColumn(column).load(builder, loc, row);
}

Value bppsa::emitApply(OpBuilder &builder, Location loc, const DeviceMap &map, const Place &from,
                       Value row) {
  Type element = cast<MemRefType>(map.memref.getType()).getElementType();
  Value zero = getIndex(builder, loc, 0);
  Value numColumns = getIndex(builder, loc, map.getNumMatrixColumns());
  Value sum = map.hasOffset ? map.getColumn(numColumns).load(builder, loc, row)
                            : arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  auto accumulate = [&](OpBuilder &nested, Value column, Value factor, Value running) -> Value {
    Value entry = map.load(nested, loc, column, row);
    return math::FmaOp::create(nested, loc, entry, factor, running);
  };
  if (map.isDiagonal)
    return accumulate(builder, zero, from.load(builder, loc, row), sum);
  return emitFold(builder, loc, zero, numColumns, sum,
                  [&](OpBuilder &nested, Value column, ValueRange running) {
                    Value factor = from.load(nested, loc, column);
                    return SmallVector<Value>{accumulate(nested, column, factor, running[0])};
                  })
      .front();
}

/// Row `row` of the product of two diagonals.
static void emitComposedDiagonal(OpBuilder &builder, Location loc, const DeviceMap &first,
                                 const DeviceMap &second, const DeviceMap &target, Value row) {
  Value zero = getIndex(builder, loc, 0), one = getIndex(builder, loc, 1);
  auto load = [&](const DeviceMap &map, Value column) {
    return map.getColumn(column).load(builder, loc, row);
  };
  Value diagonal = load(second, zero);
  if (target.hasOffset) {
    Value offset = math::FmaOp::create(builder, loc, diagonal, load(first, one), load(second, one));
    target.getColumn(one).store(builder, loc, offset, row);
  }
  Value product = arith::MulFOp::create(builder, loc, diagonal, load(first, zero));
  target.getColumn(zero).store(builder, loc, product, row);
}

void bppsa::emitComposedRow(OpBuilder &builder, Location loc, const DeviceMap &first,
                            const DeviceMap &second, const DeviceMap &target, Value row) {
  if (target.isDiagonal)
    return emitComposedDiagonal(builder, loc, first, second, target, row);
  Type element = cast<MemRefType>(target.memref.getType()).getElementType();
  Value kept = memref::AllocaOp::create(builder, loc, MemRefType::get({target.size}, element));
  Value zero = getIndex(builder, loc, 0), rows = getIndex(builder, loc, target.size);
  emitLoop(builder, loc, zero, rows, [&](OpBuilder &nested, Value k) {
    Value entry = second.getColumn(k).load(nested, loc, row);
    memref::StoreOp::create(nested, loc, entry, kept, k);
  });
  Value columns = getIndex(builder, loc, target.getNumColumns());
  emitLoop(builder, loc, zero, columns, [&](OpBuilder &nested, Value column) {
    Value start = arith::ConstantOp::create(nested, loc, nested.getZeroAttr(element));
    if (target.hasOffset)
      start = arith::SelectOp::create(nested, loc, isEqual(nested, loc, column, rows),
                                      second.getColumn(column).load(nested, loc, row), start);
    Value sum = emitFold(nested, loc, zero, rows, start,
                         [&](OpBuilder &inner, Value k, ValueRange running) {
                           Value left = memref::LoadOp::create(inner, loc, kept, k);
                           Value right = first.getColumn(column).load(inner, loc, k);
                           return SmallVector<Value>{
                               math::FmaOp::create(inner, loc, left, right, running[0])};
                         })
                    .front();
    target.getColumn(column).store(nested, loc, sum, row);
  });
}
