//===- DeviceMaps.cpp - transitions in device memory ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "DeviceMaps.h"
#include "../../Codegen/GPU/Launch.h"
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

MapRow MapRow::load(OpBuilder &builder, Location loc, const AffineMapLayout &maps, const Place &map,
                    const Place &from, Value row) {
  MapRow loaded;
  int64_t numEntries = maps.getNumMatrixColumns();
  Value rowStart = row;
  if (maps.byRows)
    rowStart = mulIndex(builder, loc, row, getIndex(builder, loc, numEntries));
  for (int64_t i = 0; i < numEntries; ++i) {
    Place column = map.dropFront(maps.byRows ? i : i * maps.size);
    loaded.entries.push_back(column.load(builder, loc, rowStart));
    Value at = maps.isDiagonal ? row : getIndex(builder, loc, i);
    loaded.factors.push_back(from.load(builder, loc, at));
  }
  if (maps.hasOffset)
    loaded.offset = map.dropFront(numEntries * maps.size).load(builder, loc, row);
  return loaded;
}

SmallVector<Value> MapRow::getValues() const {
  SmallVector<Value> values = entries;
  llvm::append_range(values, factors);
  if (offset)
    values.push_back(offset);
  return values;
}

MapRow MapRow::get(const AffineMapLayout &maps, ValueRange values) {
  MapRow row;
  int64_t numEntries = maps.getNumMatrixColumns();
  row.entries.assign(values.begin(), values.begin() + numEntries);
  row.factors.assign(values.begin() + numEntries, values.begin() + 2 * numEntries);
  if (maps.hasOffset)
    row.offset = values.back();
  return row;
}

Value MapRow::apply(OpBuilder &builder, Location loc) const {
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(entries.front().getType()));
  SmallVector<Value> sums(std::min<int64_t>(entries.size(), kNumPartials), zero);
  if (offset)
    sums[0] = offset;
  for (auto [i, entry, factor] : llvm::enumerate(entries, factors)) {
    Value &sum = sums[i % sums.size()];
    sum = math::FmaOp::create(builder, loc, entry, factor, sum);
  }
  return addPartials(builder, loc, sums);
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
