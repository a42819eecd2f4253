//===- LowerSums.cpp - sums over samples and steps ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Every entry is summed in a fixed order: over the steps of a time slab in
// registers, over slabs in memory, over lanes at the end. Threads share out rows
// of the result, so that their number does not change a bit of it, and the slabs
// keep the rounding error of a long sum that of its slab.
//
// Lanes without a sample may hold anything, infinities too. Only the last batch
// block has such lanes. It comes first, and then they are set to zero in the sums:
// the products themselves need no mask.
//
//===----------------------------------------------------------------------===//

#include "../AffineMaps.h"
#include "SumBlocks.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

int64_t bppsa::getEvenBlock(int64_t size, int64_t most) {
  int64_t numBlocks = (size + most - 1) / most;
  return (size + numBlocks - 1) / numBlocks;
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

void bppsa::emitSlabs(OpBuilder &builder, Location loc, Value sequence,
                      function_ref<void(OpBuilder &, const Slab &)> emit,
                      function_ref<void(OpBuilder &, Value)> finish) {
  Value zero = getIndex(builder, loc, 0);
  Value numBlocks = getDim(builder, loc, sequence, 0), numSteps = getDim(builder, loc, sequence, 1);
  emitFor(builder, loc, zero, numBlocks, 1, [&](OpBuilder &inBlock, Value index) {
    Value left = arith::SubIOp::create(inBlock, loc, numBlocks, index);
    Value block = addIndex(inBlock, loc, left, -1);
    emitFor(inBlock, loc, zero, numSteps, kSlabSteps, [&](OpBuilder &inSlab, Value first) {
      Value last =
          arith::MinUIOp::create(inSlab, loc, addIndex(inSlab, loc, first, kSlabSteps), numSteps);
      emit(inSlab, Slab{block, first, last});
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

void bppsa::emitStepSlab(OpBuilder &builder, Location loc, const SlabArray &sequence,
                         const Slab &slab, const Rows &sums, const LaneOptions &options) {
  int64_t numRows = sequence.getNumRows();
  int64_t blockRows = getEvenBlock(numRows, std::min<int64_t>(8, options.getNumAccumulators()));
  VectorType type = sums.getRowType();
  emitBlocks(builder, loc, numRows, blockRows, [&](OpBuilder &nested, Value row0, int64_t rows) {
    Value zero = arith::ConstantOp::create(nested, loc, nested.getZeroAttr(type));
    auto loop = scf::ForOp::create(
        nested, loc, slab.first, slab.last, getIndex(nested, loc, 1),
        SmallVector<Value>(rows, zero),
        [&](OpBuilder &inner, Location, Value step, ValueRange carried) {
          SmallVector<Value> next;
          for (int64_t i = 0; i < rows; ++i)
            next.push_back(arith::AddFOp::create(
                inner, loc, carried[i],
                sequence.getRows(inner, loc, slab, step, i).load(inner, loc, row0)));
          scf::YieldOp::create(inner, loc, next);
        });
    for (int64_t i = 0; i < rows; ++i) {
      Rows sum = sums.dropFront(i);
      Value total =
          arith::AddFOp::create(nested, loc, sum.load(nested, loc, row0), loop.getResult(i));
      sum.store(nested, loc, total, row0);
    }
  });
}

void bppsa::lowerStepSum(StepSumOp op, const LaneOptions &options) {
  if (options.lanes == 1)
    return lowerUnitStepSum(op, options);
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SlabArray sequence = {op.getSequence()};
  VectorType type = Rows{op.getSequence()}.getRowType();
  int64_t numRows = sequence.getNumRows();
  emitParallel(builder, loc, getIndex(builder, loc, 1), [&](OpBuilder &task, Value) {
    Value sums = memref::AllocaOp::create(
        task, loc, MemRefType::get({numRows, type.getDimSize(0)}, type.getElementType()),
        task.getI64IntegerAttr(64));
    emitZeroRows(task, loc, {sums}, numRows);
    auto emitSlab = [&](OpBuilder &inSlab, const Slab &slab) {
      emitStepSlab(inSlab, loc, sequence, slab, {sums}, options);
    };
    emitSlabs(task, loc, op.getSequence(), emitSlab, [&](OpBuilder &inBlock, Value block) {
      emitClearPadding(inBlock, loc, op.getBatch(), block, {sums}, numRows);
    });
    emitLaneSums(task, loc, {sums}, numRows, [&](OpBuilder &nested, Value row, Value sum) {
      memref::StoreOp::create(nested, loc, sum, op.getDestination(), row);
    });
  });
}
