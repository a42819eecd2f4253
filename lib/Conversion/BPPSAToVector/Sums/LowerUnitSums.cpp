//===- LowerUnitSums.cpp - sums over steps, vectors over units ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// As in LowerSums.cpp every entry is summed in a fixed order, over the steps of
// a slab in registers and over slabs in memory. A vector holds neighbouring
// entries of the result, so there are no lanes to sum at the end.
//
//===----------------------------------------------------------------------===//

#include "SumBlocks.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

/// Adds to rows of `sums` what `emitStep(step, running sums)` adds in a slab:
/// running sum `i` belongs to `tiles[i]` of `sums[i]`.
static void
emitSlabSums(OpBuilder &builder, Location loc, Value first, Value last, ArrayRef<Rows> sums,
             ArrayRef<Tile> tiles,
             function_ref<SmallVector<Value>(OpBuilder &, Value, ValueRange)> emitStep) {
  SmallVector<Value> start;
  for (auto [rows, tile] : llvm::zip_equal(sums, tiles)) {
    Type element = cast<MemRefType>(rows.memref.getType()).getElementType();
    start.push_back(arith::ConstantOp::create(
        builder, loc, builder.getZeroAttr(VectorType::get(tile.width, element))));
  }
  auto loop =
      scf::ForOp::create(builder, loc, first, last, getIndex(builder, loc, 1), start,
                         [&](OpBuilder &nested, Location, Value step, ValueRange carried) {
                           scf::YieldOp::create(nested, loc, emitStep(nested, step, carried));
                         });
  for (auto [rows, tile, sum] : llvm::zip_equal(sums, tiles, loop.getResults()))
    rows.store(builder, loc,
               arith::AddFOp::create(builder, loc, rows.load(builder, loc, tile), sum), tile.first);
}

/// The tiles of `count` entries from `first`.
static SmallVector<Tile> getTiles(OpBuilder &builder, Location loc, Value first, int64_t count) {
  SmallVector<Tile> tiles;
  for (int64_t i = 0; i < count; i += kTileUnits)
    tiles.push_back({addIndex(builder, loc, first, i), std::min(kTileUnits, count - i)});
  return tiles;
}

static void emitZeroTiles(OpBuilder &builder, Location loc, const Rows &rows, int64_t count) {
  Type element = cast<MemRefType>(rows.memref.getType()).getElementType();
  emitTiles(builder, loc, rows, 0, count, [&](OpBuilder &nested, const Tile &tile) {
    Value zero = arith::ConstantOp::create(
        nested, loc, nested.getZeroAttr(VectorType::get(tile.width, element)));
    rows.store(nested, loc, zero, tile.first);
  });
}

/// Adds to `sums[i, first...]` the products of row `row0 + i` of `lhs` with
/// `count` rows of `rhs` in a slab.
static void emitOuterProducts(OpBuilder &builder, Location loc, const OuterOperands &operands,
                              const Slab &slab, Value row0, int64_t rows, Value col0, int64_t cols,
                              Value sums) {
  SmallVector<Tile> columns = getTiles(builder, loc, col0, cols), tiles;
  SmallVector<Rows> homes;
  for (int64_t i = 0; i < rows; ++i)
    for (const Tile &tile : columns) {
      homes.push_back({sums, {getIndex(builder, loc, i)}});
      tiles.push_back(tile);
    }
  emitSlabSums(builder, loc, slab.first, slab.last, homes, tiles,
               [&](OpBuilder &nested, Value step, ValueRange carried) {
                 Rows left = {operands.lhs, {slab.block, step}},
                      right = {operands.rhs, {slab.block, step}};
                 SmallVector<Value> vectors, next;
                 for (const Tile &tile : columns)
                   vectors.push_back(right.load(nested, loc, tile));
                 for (int64_t i = 0; i < rows; ++i) {
                   Value entry = left.loadEntry(nested, loc, addIndex(nested, loc, row0, i));
                   for (Value vector : vectors) {
                     Value factor =
                         vector::BroadcastOp::create(nested, loc, vector.getType(), entry);
                     next.push_back(
                         vector::FMAOp::create(nested, loc, factor, vector, carried[next.size()]));
                   }
                 }
                 return next;
               });
}

/// The sums of rows [row0, row0 + rows) of `lhs`, which are rows of the result, or
/// its columns where `operands` are swapped.
static void emitResultRows(OpBuilder &builder, Location loc, const OuterOperands &operands,
                           Value row0, int64_t rows, int64_t blockCols) {
  int64_t numCols = operands.getNumCols();
  auto type = MemRefType::get({rows, numCols}, operands.getElementType());
  Value sums = memref::AllocaOp::create(builder, loc, type, builder.getI64IntegerAttr(64));
  for (int64_t i = 0; i < rows; ++i)
    emitZeroTiles(builder, loc, {sums, {getIndex(builder, loc, i)}}, numCols);
  emitSlabs(builder, loc, operands.lhs, [&](OpBuilder &inSlab, const Slab &slab) {
    emitBlocks(inSlab, loc, numCols, blockCols, [&](OpBuilder &nested, Value col0, int64_t cols) {
      emitOuterProducts(nested, loc, operands, slab, row0, rows, col0, cols, sums);
    });
  });
  for (int64_t i = 0; i < rows; ++i) {
    Value row = addIndex(builder, loc, row0, i), from = getIndex(builder, loc, i);
    if (!operands.areSwapped) {
      emitCopy(builder, loc, {sums, {from}}, {operands.destination, {row}}, numCols);
      continue;
    }
    emitFor(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, numCols), 1,
            [&](OpBuilder &nested, Value col) {
              Value sum = memref::LoadOp::create(nested, loc, sums, ValueRange{from, col});
              memref::StoreOp::create(nested, loc, sum, operands.destination, ValueRange{col, row});
            });
  }
}

void bppsa::lowerUnitOuterSum(OuterSumOp op, const LaneOptions &options) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  OuterOperands operands = {op.getLhs(), op.getRhs(), op.getDestination(), false};
  // Vectors hold entries of the wider operand, where the other would not fill one.
  if (operands.getNumCols() < std::min(kTileUnits, operands.getNumRows()))
    operands = {op.getRhs(), op.getLhs(), op.getDestination(), true};
  int64_t numRows = operands.getNumRows(), budget = options.getNumAccumulators();
  int64_t numTiles = llvm::divideCeil(operands.getNumCols(), kTileUnits);
  int64_t blockTiles = getEvenBlock(numTiles, budget >= 24 ? 4 : budget >= 6 ? 2 : 1);
  int64_t blockRows = getEvenBlock(numRows, std::max<int64_t>(1, budget / blockTiles));
  int64_t blockCols = std::min(operands.getNumCols(), blockTiles * kTileUnits);
  emitParallel(builder, loc, getIndex(builder, loc, numRows / blockRows),
               [&](OpBuilder &nested, Value task) {
                 Value size = getIndex(nested, loc, blockRows);
                 Value row0 = arith::MulIOp::create(nested, loc, task, size);
                 emitResultRows(nested, loc, operands, row0, blockRows, blockCols);
               });
  if (int64_t rest = numRows % blockRows)
    emitParallel(builder, loc, getIndex(builder, loc, 1), [&](OpBuilder &nested, Value) {
      emitResultRows(nested, loc, operands, getIndex(nested, loc, numRows - rest), rest, blockCols);
    });
}

void bppsa::lowerUnitStepSum(StepSumOp op, const LaneOptions &options) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  int64_t size = cast<MemRefType>(op.getSequence().getType()).getDimSize(2);
  int64_t block = std::min(size, kTileUnits * std::min<int64_t>(8, options.getNumAccumulators()));
  emitParallel(builder, loc, getIndex(builder, loc, 1), [&](OpBuilder &task, Value) {
    Rows sums = {op.getDestination()};
    emitZeroTiles(task, loc, sums, size);
    emitSlabs(task, loc, op.getSequence(), [&](OpBuilder &inSlab, const Slab &slab) {
      emitBlocks(inSlab, loc, size, block, [&](OpBuilder &nested, Value first, int64_t count) {
        SmallVector<Tile> tiles = getTiles(nested, loc, first, count);
        SmallVector<Rows> homes(tiles.size(), sums);
        emitSlabSums(nested, loc, slab.first, slab.last, homes, tiles,
                     [&](OpBuilder &inner, Value step, ValueRange carried) {
                       Rows rows = {op.getSequence(), {slab.block, step}};
                       SmallVector<Value> next;
                       for (auto [tile, sum] : llvm::zip_equal(tiles, carried))
                         next.push_back(
                             arith::AddFOp::create(inner, loc, sum, rows.load(inner, loc, tile)));
                       return next;
                     });
      });
    });
  });
}
