//===- LaneEmitter.cpp - emit one step of a body --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LaneEmitter.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

/// Unit tiles that are unrolled together if there are no products.
static constexpr int64_t kMaxTilesTogether = 4;

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

SmallVector<Rows> LaneEmitter::getAllRootRows(OpBuilder &builder, Location loc, Value value,
                                              Value sample) const {
  SmallVector<Rows> homes;
  for (auto [operand, rows] : llvm::zip_equal(body->getTerminator()->getOperands(), results))
    if (operand == value)
      homes.push_back(rows.ofSample(builder, loc, sample));
  if (auto own = scratch.find(value); own != scratch.end())
    homes.push_back(own->second.ofSample(builder, loc, sample));
  return homes;
}

Rows LaneEmitter::getRootRows(OpBuilder &builder, Location loc, Value value, Value sample) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (argument.getArgNumber() < firstCapture)
      return arguments[argument.getArgNumber()].ofSample(builder, loc, sample);
  return getAllRootRows(builder, loc, value, sample).front();
}

int64_t LaneEmitter::getMaxSamples(int64_t most) const {
  // A vector of samples already takes several registers, which share the loads of matrix entries.
  if (!lanesHoldUnits() && options.hasFewRegisters())
    return 1;
  auto fit = [&](const RowUnit &unit) {
    int64_t sums = options.hasFewRegisters() ? !unit.sums.empty() : unit.sums.size();
    return sums * getNumPartials(unit) * most <= options.getNumAccumulators();
  };
  while (most > 1 && !llvm::all_of(plan.getUnits(), fit))
    most /= 2;
  return most;
}

int64_t LaneEmitter::getTilesTogether(const RowUnit &unit) const {
  // Independent tiles fill the pipelines.
  if (unit.sums.empty())
    return lanesHoldUnits()
               ? std::min<int64_t>(llvm::divideCeil(unit.rows, getTileRows()), kMaxTilesTogether)
               : 1;
  int64_t accumulators = getSumsTogether(unit);
  if (options.samples > 1)
    accumulators *= options.samples * getNumPartials(unit);
  return getTilesTogether(unit, accumulators);
}

int64_t LaneEmitter::getTilesTogether(const RowUnit &unit, int64_t accumulators) const {
  int64_t numTiles = llvm::divideCeil(unit.rows, getTileRows());
  int64_t most = std::max<int64_t>(1, options.getNumAccumulators() / accumulators);
  int64_t numBlocks = (numTiles + most - 1) / most;
  int64_t block = (numTiles + numBlocks - 1) / numBlocks;
  // Prefer blocks without a remainder, unless they have too few sums to hide latency.
  int64_t least = options.hasFewRegisters() && !lanesHoldUnits() ? 2 * most / 3 + 1 : 2 * most / 3;
  for (int64_t divisor = block; divisor >= least && divisor > 0; --divisor)
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
  SmallVector<Rows> homes = getAllRootRows(builder, loc, op.getResult(), sample);
  auto copy = [&](int64_t from, int64_t to, Rows source) {
    if (from == to)
      return;
    emitTiles(builder, loc, source, from, to, [&](OpBuilder &nested, const Tile &tile) {
      Value value = source.load(nested, loc, tile);
      for (const Rows &home : homes)
        home.store(nested, loc, value, tile.first);
    });
  };
  Rows base = getRootRows(builder, loc, op.getDest(), sample);
  copy(0, offset, base);
  copy(offset, offset + size,
       getRootRows(builder, loc, op.getValueToStore(), sample).dropFront(-offset));
  copy(offset + size, rows, base);
}

void LaneEmitter::emitRowBlock(OpBuilder &builder, Location loc, const RowUnit &unit,
                               Value firstRow, int64_t numRows) {
  SmallVector<Tile> tiles;
  auto addTile = [&](int64_t row, int64_t width) {
    Value first = addIndex(builder, loc, firstRow, row);
    tiles.push_back({first, width, Value()});
    for (int64_t sample = 1; sample < options.samples && !unit.sums.empty(); ++sample)
      tiles.push_back({first, width, getIndex(builder, loc, sample)});
  };
  if (lanesHoldUnits())
    forEachUnitTile(numRows, addTile);
  else
    for (int64_t row = 0; row < numRows; ++row)
      addTile(row, options.lanes);
  size_t numSums = unit.sums.size();
  if (options.samples > 1)
    return emitRowsOfSamples(builder, loc, unit, tiles);
  if (getSumsTogether(unit) < static_cast<int64_t>(numSums))
    return emitRowsOneByOne(builder, loc, unit, tiles);
  SmallVector<RowValues> values(tiles.size());
  Accumulators accumulated = accumulateSums(builder, loc, unit, 0, numSums, tiles, values);
  for (size_t i = 0; i < numSums; ++i)
    for (auto [tile, known, accumulator] : llvm::zip_equal(tiles, values, accumulated[i]))
      finishSum(builder, loc, unit, i, tile, accumulator, known);
  for (auto [tile, known] : llvm::zip_equal(tiles, values))
    emitRow(builder, loc, unit, tile, known);
}

/// Uses one array per tile and sum, because finished sums would take the registers of the next.
SmallVector<Rows> LaneEmitter::accumulateInMemory(OpBuilder &builder, Location loc,
                                                  const RowUnit &unit, ArrayRef<Tile> tiles) {
  size_t numSums = unit.sums.size(), together = getSumsTogether(unit);
  SmallVector<Rows> sums;
  for (size_t tile = 0; tile < tiles.size(); tile += options.samples)
    for (const ProductSum &sum : unit.sums) {
      auto type = VectorType::get(options.lanes, getElementTypeOrSelf(sum.result.getType()));
      int64_t rows = lanesHoldUnits() ? tiles[tile].width : 1;
      sums.push_back(allocateRows(builder, loc, rows, type, options.samples));
    }
  SmallVector<RowValues> values(tiles.size());
  for (size_t first = 0; first < numSums; first += together) {
    size_t end = std::min(first + together, numSums);
    Accumulators accumulated = accumulateSums(builder, loc, unit, first, end, tiles, values);
    for (size_t i = first; i < end; ++i)
      for (auto [number, tile] : llvm::enumerate(tiles))
        sums[number / options.samples * numSums + i]
            .ofSample(builder, loc, tile.sample)
            .store(builder, loc, accumulated[i][number], getIndex(builder, loc, 0));
  }
  return sums;
}

void LaneEmitter::emitRowsOfSamples(OpBuilder &builder, Location loc, const RowUnit &unit,
                                    ArrayRef<Tile> tiles) {
  size_t numSums = unit.sums.size();
  SmallVector<Rows> sums =
      numSums ? accumulateInMemory(builder, loc, unit, tiles) : SmallVector<Rows>();
  int64_t perRow = numSums ? options.samples : 1;
  for (size_t row = 0; row < tiles.size(); row += perRow) {
    Tile tile = tiles[row];
    emitForSamples(builder, loc, options.samples, [&](OpBuilder &nested, Value sample) {
      RowValues known;
      Tile stored = {getIndex(nested, loc, 0), tile.width, Value()};
      tile.sample = sample;
      for (size_t i = 0; i < numSums; ++i) {
        Rows rows = sums[row / perRow * numSums + i].ofSample(nested, loc, sample);
        finishSum(nested, loc, unit, i, tile, rows.load(nested, loc, stored), known);
      }
      emitRow(nested, loc, unit, tile, known);
    });
  }
}

void LaneEmitter::emitRowsOneByOne(OpBuilder &builder, Location loc, const RowUnit &unit,
                                   ArrayRef<Tile> tiles) {
  size_t numRows = tiles.size();
  SmallVector<Rows> sums;
  SmallVector<RowValues> values(numRows);
  for (size_t i = 0; i < unit.sums.size(); ++i) {
    auto type = VectorType::get(options.lanes, getElementTypeOrSelf(unit.sums[i].result.getType()));
    sums.push_back(allocateRows(builder, loc, numRows, type));
    Accumulators accumulated = accumulateSums(builder, loc, unit, i, i + 1, tiles, values);
    for (size_t row = 0; row < numRows; ++row)
      sums.back().store(builder, loc, accumulated[i][row], getIndex(builder, loc, row));
  }
  emitFor(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, numRows), 1,
          [&](OpBuilder &nested, Value number) {
            Value row = arith::AddIOp::create(nested, loc, tiles.front().first, number);
            Tile tile = {row, options.lanes};
            RowValues known;
            for (size_t i = 0; i < sums.size(); ++i)
              finishSum(nested, loc, unit, i, tile, sums[i].load(nested, loc, number), known);
            emitRow(nested, loc, unit, tile, known);
          });
}

void LaneEmitter::emitRow(OpBuilder &builder, Location loc, const RowUnit &unit, const Tile &tile,
                          RowValues &values) {
  // A result may overlap an argument.
  SmallVector<std::pair<Value, Value>> stores;
  for (Value value : unit.stored)
    if (!value.getDefiningOp<vector::InsertStridedSliceOp>())
      stores.emplace_back(value, getRow(builder, loc, value, unit, tile, values));
  for (auto [value, vector] : stores)
    for (const Rows &home : getAllRootRows(builder, loc, value, tile.sample))
      home.store(builder, loc, vector, tile.first);
  auto yielded = body->getTerminator()->getOperands();
  for (auto [value, rows] : llvm::zip(yielded, laterResults))
    if (rows.memref && llvm::is_contained(unit.stored, value))
      rows.ofSample(builder, loc, tile.sample).prefetch(builder, loc, tile.first, /*isWrite=*/true);
  for (auto [argument, rows] : llvm::zip(body->getArguments(), fetchedWithRows))
    if (rows.memref && values.contains(argument))
      rows.ofSample(builder, loc, tile.sample)
          .prefetch(builder, loc, tile.first, /*isWrite=*/false);
}

Value LaneEmitter::getRow(OpBuilder &builder, Location loc, Value value, const RowUnit &unit,
                          const Tile &tile, RowValues &values) {
  if (Value known = values.lookup(value))
    return known;
  Value result;
  if (plan.isCapture(value)) {
    result = loadCapturedVector(builder, loc, value, tile);
  } else if (plan.isLoadedAt(value, unit)) {
    result = getRootRows(builder, loc, value, tile.sample).load(builder, loc, tile);
  } else {
    auto readSame = [&](Value operand) {
      return getRow(builder, loc, operand, unit, tile, values);
    };
    auto readOther = [&](Value operand, Value row) {
      return getRootRows(builder, loc, operand, tile.sample)
          .load(builder, loc, Tile{row, tile.width});
    };
    result = cast<CellOpInterface>(value.getDefiningOp())
                 .emitRow(builder, getTileType(value.getType(), tile),
                          {tile.first, lanesHoldUnits(), readSame, readOther});
  }
  values[value] = result;
  return result;
}

Value LaneEmitter::loadCapturedVector(OpBuilder &builder, Location loc, Value value,
                                      const Tile &tile) {
  Value array = captures[cast<BlockArgument>(value).getArgNumber() - firstCapture];
  if (lanesHoldUnits())
    return loadEntries(builder, loc, array, tile.first, 0, tile.width);
  Value entry = memref::LoadOp::create(builder, loc, array, tile.first);
  return vector::BroadcastOp::create(builder, loc, getTileType(value.getType(), tile), entry);
}
