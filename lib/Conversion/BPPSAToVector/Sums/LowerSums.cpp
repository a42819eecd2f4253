//===- LowerSums.cpp - sums over samples and time steps -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Entries are summed in a fixed order: over a slab in registers, over slabs in memory, over lanes
// at the end, so results do not depend on the number of threads. Unused lanes of the last batch
// block may hold infinities; it is summed first and these lanes are cleared, so products need no
// mask.
//
//===----------------------------------------------------------------------===//

#include "SumBlocks.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

int64_t bppsa::getEvenBlock(int64_t size, int64_t most) {
  int64_t numBlocks = (size + most - 1) / most;
  return (size + numBlocks - 1) / numBlocks;
}

void bppsa::emitSlabs(OpBuilder &builder, Location loc, Value sequence,
                      function_ref<void(OpBuilder &, const LaneSlab &)> emit,
                      function_ref<void(OpBuilder &, Value)> finish) {
  Value zero = getIndex(builder, loc, 0);
  Value numBlocks = getDim(builder, loc, sequence, 0), numSteps = getDim(builder, loc, sequence, 1);
  emitFor(builder, loc, zero, numBlocks, 1, [&](OpBuilder &inBlock, Value index) {
    Value left = arith::SubIOp::create(inBlock, loc, numBlocks, index);
    Value block = addIndex(inBlock, loc, left, -1);
    emitFor(inBlock, loc, zero, numSteps, kSlabSteps, [&](OpBuilder &inSlab, Value first) {
      Value last =
          arith::MinUIOp::create(inSlab, loc, addIndex(inSlab, loc, first, kSlabSteps), numSteps);
      emit(inSlab, LaneSlab{block, first, last});
    });
    if (finish)
      finish(inBlock, block);
  });
}

void bppsa::emitClearPadding(OpBuilder &builder, Location loc, Value batch, Value block,
                             const Rows &rows, int64_t count) {
  if (!batch)
    return;
  VectorType type = rows.getRowType();
  Value lanes = getIndex(builder, loc, type.getDimSize(0));
  Value present =
      arith::SubIOp::create(builder, loc, batch, arith::MulIOp::create(builder, loc, block, lanes));
  Value isRagged = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, present, lanes);
  scf::IfOp::create(builder, loc, isRagged, [&](OpBuilder &then, Location) {
    auto maskType = VectorType::get(type.getShape(), then.getI1Type());
    Value mask = vector::CreateMaskOp::create(then, loc, maskType, present);
    Value zero = arith::ConstantOp::create(then, loc, then.getZeroAttr(type));
    emitFor(then, loc, getIndex(then, loc, 0), getIndex(then, loc, count), 1,
            [&](OpBuilder &nested, Value row) {
              Value sum = rows.load(nested, loc, row);
              rows.store(nested, loc, arith::SelectOp::create(nested, loc, mask, sum, zero), row);
            });
    scf::YieldOp::create(then, loc);
  });
}

void bppsa::emitLaneSums(OpBuilder &builder, Location loc, const Rows &rows, int64_t count,
                         function_ref<void(OpBuilder &, Value, Value)> store) {
  emitFor(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, count), 1,
          [&](OpBuilder &nested, Value row) {
            Value sum = vector::ReductionOp::create(nested, loc, vector::CombiningKind::ADD,
                                                    rows.load(nested, loc, row));
            store(nested, row, sum);
          });
}

void bppsa::emitSlabSums(
    OpBuilder &builder, Location loc, const LaneSlab &slab, ArrayRef<Rows> sums,
    ArrayRef<Tile> tiles,
    function_ref<SmallVector<Value>(OpBuilder &, Value, ValueRange)> emitStep) {
  SmallVector<Value> start;
  for (auto [rows, tile] : llvm::zip_equal(sums, tiles)) {
    Type element = cast<MemRefType>(rows.memref.getType()).getElementType();
    start.push_back(arith::ConstantOp::create(
        builder, loc, builder.getZeroAttr(VectorType::get(tile.width, element))));
  }
  auto loop =
      scf::ForOp::create(builder, loc, slab.first, slab.last, getIndex(builder, loc, 1), start,
                         [&](OpBuilder &nested, Location, Value step, ValueRange carried) {
                           scf::YieldOp::create(nested, loc, emitStep(nested, step, carried));
                         });
  for (auto [rows, tile, sum] : llvm::zip_equal(sums, tiles, loop.getResults()))
    rows.store(builder, loc,
               arith::AddFOp::create(builder, loc, rows.load(builder, loc, tile), sum), tile.first);
}

SmallVector<Tile> bppsa::getTiles(OpBuilder &builder, Location loc, const Rows &rows, Value first,
                                  int64_t count) {
  SmallVector<Tile> tiles;
  auto addTile = [&](int64_t row, int64_t width) {
    tiles.push_back({addIndex(builder, loc, first, row), width});
  };
  if (rows.lanesHoldUnits())
    forEachUnitTile(count, addTile);
  else
    for (int64_t row = 0; row < count; ++row)
      addTile(row, rows.getRowType().getDimSize(0));
  return tiles;
}

void bppsa::emitStepSlab(OpBuilder &builder, Location loc, const SlabArray &sequence,
                         const LaneSlab &slab, const Rows &sums, const LaneOptions &options) {
  int64_t numRows = sequence.getNumRows();
  int64_t most = std::min<int64_t>(8, options.getNumAccumulators());
  int64_t block =
      sums.lanesHoldUnits() ? std::min(numRows, kTileUnits * most) : getEvenBlock(numRows, most);
  emitBlocks(builder, loc, numRows, block, [&](OpBuilder &nested, Value row0, int64_t count) {
    SmallVector<Tile> tiles = getTiles(nested, loc, sums, row0, count);
    SmallVector<Rows> homes(tiles.size(), sums);
    emitSlabSums(
        nested, loc, slab, homes, tiles, [&](OpBuilder &inner, Value step, ValueRange carried) {
          Rows rows = sequence.getRows(inner, loc, slab, step);
          SmallVector<Value> next;
          for (auto [tile, sum] : llvm::zip_equal(tiles, carried))
            next.push_back(arith::AddFOp::create(inner, loc, sum, rows.load(inner, loc, tile)));
          return next;
        });
  });
}

void bppsa::lowerStepSum(StepSumOp op, const LaneOptions &options) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SlabArray sequence = {op.getSequence()};
  int64_t numRows = sequence.getNumRows();
  bool overUnits = options.lanes == 1;
  emitParallel(builder, loc, getIndex(builder, loc, 1), [&](OpBuilder &task, Value) {
    Rows sums = {op.getDestination()};
    if (!overUnits)
      sums = allocateRows(task, loc, numRows, Rows{op.getSequence()}.getRowType());
    emitZeroRows(task, loc, sums, numRows);
    auto emitSlab = [&](OpBuilder &inSlab, const LaneSlab &slab) {
      emitStepSlab(inSlab, loc, sequence, slab, sums, options);
    };
    if (overUnits)
      return emitSlabs(task, loc, op.getSequence(), emitSlab);
    emitSlabs(task, loc, op.getSequence(), emitSlab, [&](OpBuilder &inBlock, Value block) {
      emitClearPadding(inBlock, loc, op.getBatch(), block, sums, numRows);
    });
    emitLaneSums(task, loc, sums, numRows, [&](OpBuilder &nested, Value row, Value sum) {
      memref::StoreOp::create(nested, loc, sum, op.getDestination(), row);
    });
  });
}
