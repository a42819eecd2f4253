//===- LaneRows.cpp - rows in memory and loops over rows ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LaneEmitter.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

void bppsa::emitFor(OpBuilder &builder, Location loc, Value lower, Value upper, int64_t step,
                    function_ref<void(OpBuilder &, Value)> body) {
  scf::ForOp::create(builder, loc, lower, upper, getIndex(builder, loc, step), ValueRange(),
                     [&](OpBuilder &nested, Location, Value iv, ValueRange) {
                       body(nested, iv);
                       scf::YieldOp::create(nested, loc);
                     });
}

int64_t LaneOptions::getRegistersOfVector() const {
  constexpr int64_t kFewestRegisters = 16;
  int64_t count = 1;
  while (count * registers < kFewestRegisters && lanes % (2 * count) == 0)
    count *= 2;
  return count;
}

void bppsa::forEachUnitTile(int64_t count, function_ref<void(int64_t, int64_t)> emit) {
  int64_t first = 0;
  for (; count - first >= kTileUnits; first += kTileUnits)
    emit(first, kTileUnits);
  for (int64_t width = kTileUnits / 2; width > 0; width /= 2)
    if (count - first >= width) {
      emit(first, width);
      first += width;
    }
}

void bppsa::emitBlocks(OpBuilder &builder, Location loc, int64_t size, int64_t block,
                       function_ref<void(OpBuilder &, Value, int64_t)> emit) {
  int64_t whole = size / block * block;
  if (whole > block)
    emitFor(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, whole), block,
            [&](OpBuilder &nested, Value first) { emit(nested, first, block); });
  else if (whole == block)
    emit(builder, getIndex(builder, loc, 0), block);
  if (whole < size)
    emit(builder, getIndex(builder, loc, whole), size - whole);
}

VectorType Rows::getRowType() const {
  auto type = cast<MemRefType>(memref.getType());
  return VectorType::get(numLanes ? numLanes : type.getShape().back(), type.getElementType());
}

Rows Rows::ofLanes(Value lane, int64_t count) const {
  Rows rows = *this;
  rows.firstLane = lane;
  rows.numLanes = count;
  return rows;
}

Rows Rows::dropFront(int64_t count) const {
  Rows rows = *this;
  rows.first += count;
  return rows;
}

Rows Rows::ofSample(OpBuilder &builder, Location loc, Value sample) const {
  if (!sample)
    return *this;
  Rows rows = *this;
  Value &index = rows.prefix[sampleDim];
  index = builder.createOrFold<arith::AddIOp>(loc, index, sample);
  return rows;
}

void bppsa::emitForSamples(OpBuilder &builder, Location loc, int64_t samples,
                           function_ref<void(OpBuilder &, Value)> body) {
  if (samples == 1)
    return body(builder, Value());
  emitFor(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, samples), 1, body);
}

bool Rows::lanesHoldUnits() const {
  return cast<MemRefType>(memref.getType()).getRank() == static_cast<int64_t>(prefix.size()) + 1;
}

Rows bppsa::allocateRows(OpBuilder &builder, Location loc, int64_t rows, VectorType rowType,
                         int64_t samples) {
  SmallVector<int64_t> shape;
  SmallVector<Value> prefix;
  if (samples > 1) {
    shape.push_back(samples);
    prefix.push_back(getIndex(builder, loc, 0));
  }
  shape.push_back(rows);
  if (rowType.getDimSize(0) != 1)
    shape.push_back(rowType.getDimSize(0));
  auto type = MemRefType::get(shape, rowType.getElementType());
  return {memref::AllocaOp::create(builder, loc, type, builder.getI64IntegerAttr(64)), prefix};
}

static SmallVector<Value> getIndices(OpBuilder &builder, Location loc, const Rows &rows,
                                     Value row) {
  SmallVector<Value> indices(rows.prefix.begin(), rows.prefix.end());
  indices.push_back(addIndex(builder, loc, row, rows.first));
  if (!rows.lanesHoldUnits())
    indices.push_back(rows.firstLane ? rows.firstLane : getIndex(builder, loc, 0));
  return indices;
}

Value Rows::load(OpBuilder &builder, Location loc, const Tile &tile) const {
  SmallVector<Value> indices = getIndices(builder, loc, *this, tile.first);
  return loadEntries(builder, loc, memref, indices, indices.size() - 1, tile.width);
}

Value Rows::loadEntry(OpBuilder &builder, Location loc, Value row) const {
  return memref::LoadOp::create(builder, loc, memref, getIndices(builder, loc, *this, row));
}

Value Rows::load(OpBuilder &builder, Location loc, Value row) const {
  return load(builder, loc, Tile{row, getRowType().getDimSize(0)});
}

void Rows::store(OpBuilder &builder, Location loc, Value vector, Value row) const {
  SmallVector<Value> indices = getIndices(builder, loc, *this, row);
  if (cast<MemRefType>(memref.getType()).isLastDimUnitStride()) {
    vector::StoreOp::create(builder, loc, vector, memref, indices);
    return;
  }
  Value first = indices.back();
  for (int64_t i = 0, e = cast<VectorType>(vector.getType()).getDimSize(0); i < e; ++i) {
    indices.back() = addIndex(builder, loc, first, i);
    Value entry = vector::ExtractOp::create(builder, loc, vector, i);
    memref::StoreOp::create(builder, loc, entry, memref, indices);
  }
}

void Rows::prefetch(OpBuilder &builder, Location loc, Value row, bool isWrite) const {
  memref::PrefetchOp::create(builder, loc, memref, getIndices(builder, loc, *this, row), isWrite,
                             /*localityHint=*/2, /*isDataCache=*/true);
}

Value bppsa::loadEntries(OpBuilder &builder, Location loc, Value array, ArrayRef<Value> indices,
                         unsigned dim, int64_t width) {
  auto type = cast<MemRefType>(array.getType());
  auto vectorType = VectorType::get(width, type.getElementType());
  if (dim + 1 == type.getRank() && type.isLastDimUnitStride())
    return vector::LoadOp::create(builder, loc, vectorType, array, indices);
  SmallVector<Value> at(indices), entries;
  for (int64_t i = 0; i < width; ++i) {
    at[dim] = addIndex(builder, loc, indices[dim], i);
    entries.push_back(memref::LoadOp::create(builder, loc, array, at));
  }
  return vector::FromElementsOp::create(builder, loc, vectorType, entries);
}

void bppsa::emitTiles(OpBuilder &builder, Location loc, const Rows &rows, int64_t from, int64_t to,
                      function_ref<void(OpBuilder &, const Tile &)> body) {
  bool overUnits = rows.lanesHoldUnits();
  int64_t tileRows = overUnits ? kTileUnits : 1;
  int64_t width = overUnits ? kTileUnits : rows.getRowType().getDimSize(0);
  int64_t whole = (to - from) / tileRows * tileRows;
  if (whole > 0)
    emitFor(builder, loc, getIndex(builder, loc, from), getIndex(builder, loc, from + whole),
            tileRows, [&](OpBuilder &nested, Value row) { body(nested, Tile{row, width}); });
  forEachUnitTile(to - from - whole, [&](int64_t first, int64_t unitWidth) {
    body(builder, Tile{getIndex(builder, loc, from + whole + first), unitWidth});
  });
}

VectorType bppsa::getTileType(Type bodyType, const Tile &tile) {
  return VectorType::get(tile.width, cast<VectorType>(bodyType).getElementType());
}
