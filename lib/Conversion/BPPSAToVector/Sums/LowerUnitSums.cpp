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

/// Adds to `sums[i, first...]` the products of row `row0 + i` of `lhs` with
/// `count` rows of `rhs` in a slab.
static void emitOuterProducts(OpBuilder &builder, Location loc, const OuterOperands &operands,
                              const Slab &slab, Value row0, int64_t rows, Value col0, int64_t cols,
                              Value sums) {
  SmallVector<Tile> columns, tiles;
  SmallVector<Rows> homes;
  for (int64_t i = 0; i < rows; ++i) {
    Rows row = {sums, {getIndex(builder, loc, i)}};
    columns = getTiles(builder, loc, row, col0, cols);
    homes.append(columns.size(), row);
    llvm::append_range(tiles, columns);
  }
  emitSlabSums(
      builder, loc, slab, homes, tiles, [&](OpBuilder &nested, Value step, ValueRange carried) {
        Rows left = {operands.lhs, {slab.block, step}}, right = {operands.rhs, {slab.block, step}};
        SmallVector<Value> vectors, next;
        for (const Tile &tile : columns)
          vectors.push_back(right.load(nested, loc, tile));
        for (int64_t i = 0; i < rows; ++i) {
          Value entry = left.loadEntry(nested, loc, addIndex(nested, loc, row0, i));
          for (Value vector : vectors) {
            Value factor = vector::BroadcastOp::create(nested, loc, vector.getType(), entry);
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
    emitZeroRows(builder, loc, {sums, {getIndex(builder, loc, i)}}, numCols);
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
  emitParallelRows(builder, loc, numRows, blockRows,
                   [&](OpBuilder &nested, Value row0, int64_t rows) {
                     emitResultRows(nested, loc, operands, row0, rows, blockCols);
                   });
}
