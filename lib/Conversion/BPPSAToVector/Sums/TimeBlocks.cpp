//===- TimeBlocks.cpp - a chain and its sums, block by block --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// What a chain emits for all steps of a long sequence fits in no cache: one pass over it for each
// sum reads it from memory again. In blocks of one slab it never leaves the second-level cache.
//
//===----------------------------------------------------------------------===//

#include "TimeBlocks.h"
#include "../AffineMaps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

/// Steps of a block: one slab, so that blocks change nothing of the order of a sum.
static constexpr int64_t kBlockSteps = kSlabSteps;

//===----------------------------------------------------------------------===//
// Which sums
//===----------------------------------------------------------------------===//

/// The arrays that a sum reads.
static OperandRange getSummed(Operation *sum) {
  return sum->getOperands().take_front(isa<OuterSumOp>(sum) ? 2 : 1);
}

static bool isThereBefore(Value value, Operation *op) {
  Operation *definition = value.getDefiningOp();
  return !definition || definition->getBlock() != op->getBlock() || definition->isBeforeInBlock(op);
}

SmallVector<Operation *> bppsa::findSumsOf(ChainOp chain) {
  SmallVector<Operation *> sums;
  if (chain->getNumResults() > 0 || chain.getLanes().value_or(1) == 1)
    return sums;
  CotangentLoop loop = getCotangentLoop(chain);
  auto isEmitted = [&](Value value) { return llvm::is_contained(loop.getEmitted(), value); };
  for (Operation *op = chain->getNextNode(); op; op = op->getNextNode()) {
    if (!isa<OuterSumOp, StepSumOp>(op)) {
      if (isMemoryEffectFree(op))
        continue;
      break;
    }
    bool isOfChain =
        llvm::any_of(getSummed(op), isEmitted) &&
        cast<PackableOpInterface>(op).getLanes() == chain.getLanes() &&
        llvm::all_of(op->getOperands(), [&](Value value) { return isThereBefore(value, chain); });
    if (!isOfChain)
      break;
    sums.push_back(op);
  }
  return sums;
}

/// Whether `array` is memory that nothing but `chain` and `sums` use, and what frees it.
static bool isOnlyOf(Value array, Operation *chain, ArrayRef<Operation *> sums) {
  return array.getDefiningOp<memref::AllocOp>() &&
         llvm::all_of(array.getUsers(), [&](Operation *user) {
           return user == chain || llvm::is_contained(sums, user) || isa<memref::DeallocOp>(user);
         });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value TimeBlocks::RunningSum::getBatch() const {
  auto outer = dyn_cast<OuterSumOp>(op);
  return outer ? outer.getBatch() : cast<StepSumOp>(op).getBatch();
}

TimeBlocks::TimeBlocks(OpBuilder &builder, const CotangentLoop &loop, ArrayRef<Operation *> ops,
                       const LaneOptions &options)
    : loop(loop), loc(loop.op->getLoc()), options(options) {
  Value numBlocks = getDim(builder, loc, loop.saved[0], 0);
  for (Operation *op : ops) {
    SmallVector<int64_t> shape = {ShapedType::kDynamic};
    for (Value array : getSummed(op))
      shape.push_back(SlabArray{array}.getNumRows());
    shape.push_back(options.lanes);
    auto type = MemRefType::get(shape, getElementTypeOrSelf(getSummed(op).front()));
    sums.push_back({op, memref::AllocOp::create(builder, loc, type, numBlocks,
                                                builder.getI64IntegerAttr(64))});
  }
  for (Value emitted : loop.getEmitted())
    buffers.push_back(isOnlyOf(emitted, loop.op, ops) ? emitted : Value());
}

/// Puts buffers of the steps of a block in the places of the sequences that they stand for.
void TimeBlocks::allocateBuffers(OpBuilder &builder) {
  for (auto [buffer, emitted] : llvm::zip_equal(buffers, loop.getEmitted())) {
    if (!buffer)
      continue;
    auto sequence = cast<MemRefType>(emitted.getType());
    SmallVector<int64_t> shape = {kBlockSteps};
    llvm::append_range(shape, sequence.getShape().drop_front(2));
    buffer =
        memref::AllocaOp::create(builder, loc, MemRefType::get(shape, sequence.getElementType()),
                                 builder.getI64IntegerAttr(64));
  }
}

SlabArray TimeBlocks::getArray(Value operand) const {
  for (auto [buffer, emitted] : llvm::zip_equal(buffers, loop.getEmitted()))
    if (buffer && emitted == operand)
      return {buffer, /*isBuffer=*/true};
  return {operand};
}

void TimeBlocks::forEachRow(OpBuilder &builder, const RunningSum &sum,
                            function_ref<void(OpBuilder &, ArrayRef<Value>, int64_t)> emit) const {
  if (!sum.isOuter())
    return emit(builder, {}, sum.getShape()[1]);
  emitFor(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, sum.getShape()[1]), 1,
          [&](OpBuilder &nested, Value row) { emit(nested, row, sum.getShape()[2]); });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// `first` and then `rest`.
static SmallVector<Value, 3> concat(Value first, ArrayRef<Value> rest) {
  SmallVector<Value, 3> all = {first};
  llvm::append_range(all, rest);
  return all;
}

void TimeBlocks::emit(OpBuilder &builder, Value block, CotangentSteps &steps, const Rows &state) {
  allocateBuffers(builder);
  SmallVector<std::optional<OuterSlabSums>> outer;
  for (const RunningSum &sum : sums) {
    outer.emplace_back();
    if (sum.isOuter()) {
      SlabArray lhs = getArray(sum.op->getOperand(0)), rhs = getArray(sum.op->getOperand(1));
      outer.back().emplace(builder, loc, lhs, rhs, OuterBlocking::get(lhs, rhs, options));
    }
    forEachRow(builder, sum, [&](OpBuilder &nested, ArrayRef<Value> row, int64_t count) {
      emitZeroRows(nested, loc, {sum.sums, concat(block, row)}, count);
    });
  }
  Value numSteps = getNumSteps(builder, loop), blockSteps = getIndex(builder, loc, kBlockSteps);
  Value count = arith::CeilDivUIOp::create(builder, loc, numSteps, blockSteps);
  emitFor(builder, loc, getIndex(builder, loc, 0), count, 1, [&](OpBuilder &nested, Value number) {
    if (!loop.reverse) {
      Value left = arith::SubIOp::create(nested, loc, count, number);
      number = addIndex(nested, loc, left, -1);
    }
    Slab slab = {block, arith::MulIOp::create(nested, loc, number, blockSteps), Value()};
    slab.last = arith::MinUIOp::create(nested, loc, addIndex(nested, loc, slab.first, kBlockSteps),
                                       numSteps);
    steps.emit(nested, slab.block, slab.first, slab.last, buffers, state);
    for (auto [sum, slabSums] : llvm::zip_equal(sums, outer)) {
      Rows rows = {sum.sums, {block}};
      if (slabSums)
        slabSums->emit(nested, slab, getIndex(nested, loc, 0), sum.getShape()[1], rows);
      else
        emitStepSlab(nested, loc, getArray(sum.op->getOperand(0)), slab, rows, options);
    }
  });
  for (const RunningSum &sum : sums)
    forEachRow(builder, sum, [&](OpBuilder &nested, ArrayRef<Value> row, int64_t rows) {
      emitClearPadding(nested, loc, sum.getBatch(), block, {sum.sums, concat(block, row)}, rows);
    });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Adds batch blocks from the last to the first, then lanes.
void TimeBlocks::emitReduction(OpBuilder &builder, const RunningSum &sum) const {
  Value numBlocks = getDim(builder, loc, sum.sums, 0);
  VectorType type = Rows{sum.sums}.getRowType();
  forEachRow(builder, sum, [&](OpBuilder &inRow, ArrayRef<Value> row, int64_t count) {
    emitFor(inRow, loc, getIndex(inRow, loc, 0), getIndex(inRow, loc, count), 1,
            [&](OpBuilder &nested, Value entry) {
              Value zero = arith::ConstantOp::create(nested, loc, nested.getZeroAttr(type));
              auto total = scf::ForOp::create(
                  nested, loc, getIndex(nested, loc, 0), numBlocks, getIndex(nested, loc, 1), zero,
                  [&](OpBuilder &inBlock, Location, Value number, ValueRange carried) {
                    Value left = arith::SubIOp::create(inBlock, loc, numBlocks, number);
                    Rows lanes = {sum.sums, concat(addIndex(inBlock, loc, left, -1), row)};
                    Value next = arith::AddFOp::create(inBlock, loc, carried[0],
                                                       lanes.load(inBlock, loc, entry));
                    scf::YieldOp::create(inBlock, loc, next);
                  });
              Value result = vector::ReductionOp::create(nested, loc, vector::CombiningKind::ADD,
                                                         total.getResult(0));
              SmallVector<Value> indices(row);
              indices.push_back(entry);
              memref::StoreOp::create(nested, loc, result, sum.op->getOperands().back(), indices);
            });
  });
}

void TimeBlocks::finish(OpBuilder &builder) {
  for (const RunningSum &sum : sums) {
    emitReduction(builder, sum);
    memref::DeallocOp::create(builder, loc, sum.sums);
  }
}
