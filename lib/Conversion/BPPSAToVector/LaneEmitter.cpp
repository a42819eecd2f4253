//===- LaneEmitter.cpp - emits one step of a body -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LaneEmitter.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

/// Tiles of units that are written out together where there are no products.
static constexpr int64_t kMostTilesTogether = 4;

//===----------------------------------------------------------------------===//
// Rows and loops
//===----------------------------------------------------------------------===//

void bppsa::emitFor(OpBuilder &builder, Location loc, Value lower, Value upper, int64_t step,
                    function_ref<void(OpBuilder &, Value)> body) {
  scf::ForOp::create(builder, loc, lower, upper, getIndex(builder, loc, step), ValueRange(),
                     [&](OpBuilder &nested, Location, Value iv, ValueRange) {
                       body(nested, iv);
                       scf::YieldOp::create(nested, loc);
                     });
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
  return VectorType::get(type.getShape().back(), type.getElementType());
}

Rows Rows::dropFront(int64_t count) const { return {memref, prefix, first + count}; }

Rows Rows::ofSample(OpBuilder &builder, Location loc, Value sample) const {
  if (!sample)
    return *this;
  Rows rows = *this;
  rows.prefix.front() = builder.createOrFold<arith::AddIOp>(loc, prefix.front(), sample);
  return rows;
}

void bppsa::emitForSamples(OpBuilder &builder, Location loc, int64_t samples,
                           function_ref<void(OpBuilder &, Value)> body) {
  if (samples == 1)
    return body(builder, Value());
  emitFor(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, samples), 1, body);
}

bool Rows::isOverUnits() const {
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
  if (!rows.isOverUnits())
    indices.push_back(getIndex(builder, loc, 0));
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
  bool overUnits = rows.isOverUnits();
  int64_t tileRows = overUnits ? kTileUnits : 1;
  int64_t width = overUnits ? kTileUnits : rows.getRowType().getDimSize(0);
  int64_t whole = (to - from) / tileRows * tileRows;
  if (whole > 0)
    emitFor(builder, loc, getIndex(builder, loc, from), getIndex(builder, loc, from + whole),
            tileRows, [&](OpBuilder &nested, Value row) { body(nested, Tile{row, width}); });
  if (int64_t rest = to - from - whole)
    body(builder, Tile{getIndex(builder, loc, from + whole), rest});
}

VectorType bppsa::getTileType(Type bodyType, const Tile &tile) {
  return VectorType::get(tile.width, cast<VectorType>(bodyType).getElementType());
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

FailureOr<LaneEmitter> LaneEmitter::create(Block &body, ValueRange captures,
                                           const LaneOptions &options) {
  FailureOr<BodyPlan> plan = BodyPlan::create(body, captures.size());
  if (failed(plan))
    return failure();
  return LaneEmitter(*plan, body, captures, options);
}

LaneEmitter::LaneEmitter(BodyPlan plan, Block &body, ValueRange captures,
                         const LaneOptions &options)
    : plan(std::move(plan)), body(&body), options(options),
      firstCapture(body.getNumArguments() - captures.size()), captures(captures) {}

void LaneEmitter::allocateScratch(OpBuilder &builder, Location loc) {
  auto yielded = body->getTerminator()->getOperands();
  for (const RowUnit &unit : plan.getUnits())
    for (Value value : unit.stored) {
      if (llvm::is_contained(yielded, value))
        continue;
      auto rowType = VectorType::get(options.lanes, getElementTypeOrSelf(value.getType()));
      scratch[value] = allocateRows(builder, loc, unit.rows, rowType, options.samples);
    }
}

void LaneEmitter::emitStep(OpBuilder &builder, Location loc, ArrayRef<Rows> stepArguments,
                           ArrayRef<Rows> stepResults, const LaterRows &later) {
  arguments = stepArguments;
  results = stepResults;
  laterResults = later.results;
  planFetches(later.arguments);
  for (const RowUnit &unit : plan.getUnits())
    emitUnit(builder, loc, unit);
}

SmallVector<Rows> LaneEmitter::getHomes(OpBuilder &builder, Location loc, Value value,
                                        Value sample) const {
  SmallVector<Rows> homes;
  for (auto [operand, rows] : llvm::zip_equal(body->getTerminator()->getOperands(), results))
    if (operand == value)
      homes.push_back(rows.ofSample(builder, loc, sample));
  if (auto own = scratch.find(value); own != scratch.end())
    homes.push_back(own->second.ofSample(builder, loc, sample));
  return homes;
}

Rows LaneEmitter::getHome(OpBuilder &builder, Location loc, Value value, Value sample) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (argument.getArgNumber() < firstCapture)
      return arguments[argument.getArgNumber()].ofSample(builder, loc, sample);
  return getHomes(builder, loc, value, sample).front();
}

int64_t LaneEmitter::getMostSamples(int64_t most) const {
  // Few registers are filled by the tiles of one sample, which wait for each other less.
  if (options.getNumAccumulators() < 24)
    return 1;
  auto fit = [&](const RowUnit &unit) {
    return static_cast<int64_t>(unit.sums.size()) * getNumPartials(unit) * most <=
           options.getNumAccumulators();
  };
  while (most > 1 && !llvm::all_of(plan.getUnits(), fit))
    most /= 2;
  return most;
}

int64_t LaneEmitter::getTilesTogether(const RowUnit &unit) const {
  // Without products one tile at a time fills the pipelines: tiles are independent.
  if (unit.sums.empty())
    return isOverUnits()
               ? std::min<int64_t>(llvm::divideCeil(unit.rows, getTileRows()), kMostTilesTogether)
               : 1;
  int64_t accumulators = unit.sums.size();
  if (options.samples > 1)
    accumulators *= options.samples * getNumPartials(unit);
  return getTilesTogether(unit, accumulators);
}

int64_t LaneEmitter::getTilesTogether(const RowUnit &unit, int64_t accumulators) const {
  int64_t numTiles = llvm::divideCeil(unit.rows, getTileRows());
  int64_t most = std::max<int64_t>(1, options.getNumAccumulators() / accumulators);
  int64_t numBlocks = (numTiles + most - 1) / most;
  int64_t block = (numTiles + numBlocks - 1) / numBlocks;
  for (int64_t divisor = block; divisor >= 2 * most / 3 && divisor > 0; --divisor)
    if (numTiles % divisor == 0)
      return divisor;
  return block;
}

void LaneEmitter::emitUnit(OpBuilder &builder, Location loc, const RowUnit &unit) {
  bool rowwise = false;
  for (Value value : unit.stored) {
    auto insert = value.getDefiningOp<vector::InsertStridedSliceOp>();
    rowwise |= !insert;
    if (insert)
      emitForSamples(builder, loc, options.samples, [&](OpBuilder &nested, Value sample) {
        emitInsert(nested, loc, insert, sample);
      });
  }
  if (!rowwise)
    return;
  emitBlocks(builder, loc, unit.rows, getTilesTogether(unit) * getTileRows(),
             [&](OpBuilder &nested, Value firstRow, int64_t numRows) {
               emitRowBlock(nested, loc, unit, firstRow, numRows);
             });
}

void LaneEmitter::emitInsert(OpBuilder &builder, Location loc, vector::InsertStridedSliceOp op,
                             Value sample) {
  int64_t offset = cast<IntegerAttr>(op.getOffsets()[0]).getInt();
  int64_t size = getNumRows(op.getValueToStore()), rows = getNumRows(op.getResult());
  SmallVector<Rows> homes = getHomes(builder, loc, op.getResult(), sample);
  auto copy = [&](int64_t from, int64_t to, Rows source) {
    if (from == to)
      return;
    emitTiles(builder, loc, source, from, to, [&](OpBuilder &nested, const Tile &tile) {
      Value value = source.load(nested, loc, tile);
      for (const Rows &home : homes)
        home.store(nested, loc, value, tile.first);
    });
  };
  Rows base = getHome(builder, loc, op.getDest(), sample);
  copy(0, offset, base);
  copy(offset, offset + size,
       getHome(builder, loc, op.getValueToStore(), sample).dropFront(-offset));
  copy(offset + size, rows, base);
}

void LaneEmitter::emitRowBlock(OpBuilder &builder, Location loc, const RowUnit &unit,
                               Value firstRow, int64_t numRows) {
  SmallVector<Tile> tiles;
  for (int64_t row = 0; row < numRows; row += getTileRows()) {
    Value first = addIndex(builder, loc, firstRow, row);
    int64_t width = isOverUnits() ? std::min(numRows - row, kTileUnits) : options.lanes;
    tiles.push_back({first, width, Value()});
    for (int64_t sample = 1; sample < options.samples && !unit.sums.empty(); ++sample)
      tiles.push_back({first, width, getIndex(builder, loc, sample)});
  }
  SmallVector<RowValues> values = emitProductSums(builder, loc, unit, tiles);
  if (options.samples > 1)
    return emitRowsOfSamples(builder, loc, unit, tiles, values);
  for (auto [tile, known] : llvm::zip_equal(tiles, values))
    emitRow(builder, loc, unit, tile, known);
}

void LaneEmitter::emitRowsOfSamples(OpBuilder &builder, Location loc, const RowUnit &unit,
                                    ArrayRef<Tile> tiles, ArrayRef<RowValues> values) {
  int64_t perRow = unit.sums.empty() ? 1 : options.samples;
  for (size_t i = 0; i < tiles.size(); i += perRow) {
    Tile tile = tiles[i];
    SmallVector<Rows> sums;
    for (const ProductSum &sum : unit.sums) {
      auto type = VectorType::get(1, getElementTypeOrSelf(sum.result.getType()));
      sums.push_back(allocateRows(builder, loc, tile.width, type, options.samples));
      for (int64_t sample = 0; sample < options.samples; ++sample)
        sums.back()
            .ofSample(builder, loc, tiles[i + sample].sample)
            .store(builder, loc, values[i + sample].lookup(sum.result), getIndex(builder, loc, 0));
    }
    emitForSamples(builder, loc, options.samples, [&](OpBuilder &nested, Value sample) {
      RowValues known;
      Tile stored = {getIndex(nested, loc, 0), tile.width, Value()};
      for (auto [sum, rows] : llvm::zip_equal(unit.sums, sums))
        known[sum.result] = rows.ofSample(nested, loc, sample).load(nested, loc, stored);
      tile.sample = sample;
      emitRow(nested, loc, unit, tile, known);
    });
  }
}

void LaneEmitter::emitRow(OpBuilder &builder, Location loc, const RowUnit &unit, const Tile &tile,
                          RowValues &values) {
  // All loads come first: a result may lie over an argument.
  SmallVector<std::pair<Value, Value>> stores;
  for (Value value : unit.stored)
    if (!value.getDefiningOp<vector::InsertStridedSliceOp>())
      stores.emplace_back(value, getRow(builder, loc, value, unit, tile, values));
  for (auto [value, vector] : stores)
    for (const Rows &home : getHomes(builder, loc, value, tile.sample))
      home.store(builder, loc, vector, tile.first);
  auto yielded = body->getTerminator()->getOperands();
  for (auto [value, rows] : llvm::zip(yielded, laterResults))
    if (rows.memref && llvm::is_contained(unit.stored, value))
      rows.prefetch(builder, loc, tile.first, /*isWrite=*/true);
}

Value LaneEmitter::getRow(OpBuilder &builder, Location loc, Value value, const RowUnit &unit,
                          const Tile &tile, RowValues &values) {
  if (Value known = values.lookup(value))
    return known;
  Value result;
  if (plan.isCapture(value)) {
    result = loadCapturedVector(builder, loc, value, tile);
  } else if (plan.isLoadedAt(value, unit)) {
    result = getHome(builder, loc, value, tile.sample).load(builder, loc, tile);
  } else {
    auto readSame = [&](Value operand) {
      return getRow(builder, loc, operand, unit, tile, values);
    };
    auto readOther = [&](Value operand, Value row) {
      return getHome(builder, loc, operand, tile.sample).load(builder, loc, Tile{row, tile.width});
    };
    result = cast<CellOpInterface>(value.getDefiningOp())
                 .emitRow(builder, getTileType(value.getType(), tile),
                          {tile.first, isOverUnits(), readSame, readOther});
  }
  values[value] = result;
  return result;
}

Value LaneEmitter::loadCapturedVector(OpBuilder &builder, Location loc, Value value,
                                      const Tile &tile) {
  Value array = captures[cast<BlockArgument>(value).getArgNumber() - firstCapture];
  if (isOverUnits())
    return loadEntries(builder, loc, array, tile.first, 0, tile.width);
  Value entry = memref::LoadOp::create(builder, loc, array, tile.first);
  return vector::BroadcastOp::create(builder, loc, getTileType(value.getType(), tile), entry);
}
