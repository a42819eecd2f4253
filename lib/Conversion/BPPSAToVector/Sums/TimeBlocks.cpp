//===- TimeBlocks.cpp - a chain and its sums in time blocks ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// In blocks of one slab, emitted values stay in L2 for the sums. Sums of one shape share a
// function.
//
//===----------------------------------------------------------------------===//

#include "TimeBlocks.h"
#include "bppsa/Dialect/BPPSA/Analysis/RunningSums.h"
#include "bppsa/Dialect/BPPSA/Analysis/VanishingValues.h"
#include "bppsa/Support/SharedCode.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

/// True if running sums of `sum`, if any, are added in chain order.
static bool hasOrderOf(Operation *sum, ChainOp chain) {
  auto running = dyn_cast<AddToSumsOp>(sum);
  return !running || running.getReverse() == chain.getReverse();
}

static bool isThereBefore(Value value, Operation *op) {
  Operation *definition = value.getDefiningOp();
  return !definition || definition->getBlock() != op->getBlock() || definition->isBeforeInBlock(op);
}

SmallVector<Operation *> bppsa::findSumsOf(ChainOp chain) {
  SmallVector<Operation *> sums;
  if (chain->getNumResults() > 0 || chain.getLanes().value_or(1) == 1)
    return sums;
  for (Operation *op = chain->getNextNode(); op; op = op->getNextNode()) {
    if (!isa<OuterSumOp, StepSumOp, AddToSumsOp>(op)) {
      if (isMemoryEffectFree(op))
        continue;
      break;
    }
    bool isOfChain =
        isSumOverSequenceOf(op, chain) && hasOrderOf(op, chain) &&
        cast<PackableOpInterface>(op).getLanes() == chain.getLanes() &&
        llvm::all_of(op->getOperands(), [&](Value value) { return isThereBefore(value, chain); });
    if (!isOfChain)
      break;
    sums.push_back(op);
  }
  return sums;
}

/// A deallocation does not count.
static bool isOnlyOf(Value array, Operation *chain, ArrayRef<Operation *> sums) {
  return array.getDefiningOp<memref::AllocOp>() &&
         llvm::all_of(array.getUsers(), [&](Operation *user) {
           return user == chain || llvm::is_contained(sums, user) || isa<memref::DeallocOp>(user);
         });
}

bool TimeBlocks::RunningSum::isOuter() const { return getSummed(op).size() == 2; }

TimeBlocks::TimeBlocks(OpBuilder &builder, const CotangentLoop &loop, ArrayRef<Operation *> ops,
                       const LaneOptions &options)
    : loop(loop), module(loop.op->getParentOfType<ModuleOp>()), loc(loop.op->getLoc()),
      options(options) {
  Value numBlocks = getDim(builder, loc, loop.saved[0], 0);
  for (Operation *op : ops) {
    if (auto running = dyn_cast<AddToSumsOp>(op)) {
      sums.push_back({op, running.getDestination()});
      continue;
    }
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

/// Replaces each marker by a buffer for a block.
void TimeBlocks::allocateBuffers(OpBuilder &builder) {
  for (auto [buffer, emitted] : llvm::zip_equal(buffers, loop.getEmitted())) {
    if (!buffer)
      continue;
    auto sequence = cast<MemRefType>(emitted.getType());
    SmallVector<int64_t> shape = {kSlabSteps};
    llvm::append_range(shape, sequence.getShape().drop_front(2));
    buffer =
        memref::AllocaOp::create(builder, loc, MemRefType::get(shape, sequence.getElementType()),
                                 builder.getI64IntegerAttr(64));
  }
}

/// Drops leading dimensions at `offsets`; `steps` sizes the last of them. The offset is dynamic.
static Value emitView(OpBuilder &builder, Location loc, Value array, ArrayRef<Value> offsets,
                      Value steps) {
  auto type = cast<MemRefType>(array.getType());
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  SmallVector<OpFoldResult> begin(type.getRank(), zero), strides(type.getRank(), one), sizes;
  llvm::copy(offsets, begin.begin());
  size_t numFixed = offsets.size() - (steps ? 1 : 0);
  sizes.append(numFixed, one);
  if (steps)
    sizes.push_back(steps);
  for (int64_t size : type.getShape().drop_front(offsets.size()))
    sizes.push_back(builder.getIndexAttr(size));
  SmallVector<int64_t> shape(type.getShape().drop_front(numFixed));
  if (steps)
    shape.front() = ShapedType::kDynamic;
  MemRefType viewType =
      memref::SubViewOp::inferRankReducedResultType(shape, type, begin, sizes, strides);
  Value view = memref::SubViewOp::create(builder, loc, viewType, array, begin, sizes, strides);
  auto [viewStrides, offset] = viewType.getStridesAndOffset();
  auto layout = StridedLayoutAttr::get(builder.getContext(), ShapedType::kDynamic, viewStrides);
  return memref::CastOp::create(
      builder, loc, MemRefType::get(viewType.getShape(), viewType.getElementType(), layout), view);
}

SlabArray TimeBlocks::getSteps(OpBuilder &builder, const LaneSlab &slab, Value operand) const {
  Value count = arith::SubIOp::create(builder, loc, slab.last, slab.first);
  for (auto [buffer, emitted] : llvm::zip_equal(buffers, loop.getEmitted()))
    if (emitted == operand)
      return {buffer ? emitView(builder, loc, buffer, getIndex(builder, loc, 0), count)
                     : emitView(builder, loc, operand, {slab.block, slab.first}, count),
              /*isSlab=*/true, /*isInCache=*/true};
  return {emitView(builder, loc, operand, {slab.block, slab.first}, count), /*isSlab=*/true};
}

void TimeBlocks::emitStart(OpBuilder &builder, Value block, const RunningSum &sum) const {
  auto emitBody = [&](OpBuilder &inside, ValueRange arguments) {
    forEachRow(inside, loc, sum.getShape(), [&](OpBuilder &nested, ArrayRef<Value> row, int64_t n) {
      emitZeroRows(nested, loc, {arguments[0], SmallVector<Value, 3>(row)}, n);
    });
  };
  Value sums = emitView(builder, loc, sum.sums, block, nullptr);
  emitSharedCall(builder, module, loc, "zero_sums", sums, emitBody);
}

void TimeBlocks::emitSlab(OpBuilder &builder, const LaneSlab &slab, const RunningSum &sum) const {
  Value sums = emitView(builder, loc, sum.sums, slab.block, nullptr);
  SlabArray lhs = getSteps(builder, slab, sum.op->getOperand(0));
  auto getOwnSlab = [&](OpBuilder &inside, Value steps) {
    Value zero = getIndex(inside, loc, 0);
    return LaneSlab{zero, zero, getDim(inside, loc, steps, 0)};
  };
  if (!sum.isOuter())
    return emitSharedCall(builder, module, loc, "step_sum_slab", {sums, lhs.array},
                          [&](OpBuilder &inside, ValueRange values) {
                            SlabArray steps = {values[1], /*isSlab=*/true};
                            LaneSlab own = getOwnSlab(inside, values[1]);
                            emitStepSlab(inside, loc, steps, own, {values[0]}, options);
                          });
  SlabArray rhs = getSteps(builder, slab, sum.op->getOperand(1));
  OuterBlocking blocking = OuterBlocking::get(lhs, rhs, options);
  std::string name = "outer_sum_slab";
  for (const SlabArray &array : {lhs, rhs})
    name += blocking.fetches(array) ? "_fetched" : "";
  emitSharedCall(builder, module, loc, name, {sums, lhs.array, rhs.array},
                 [&](OpBuilder &inside, ValueRange values) {
                   lhs.array = values[1];
                   rhs.array = values[2];
                   LaneSlab own = getOwnSlab(inside, values[1]);
                   OuterSlabSums(inside, loc, lhs, rhs, blocking, rhs.getNumRows())
                       .emitAll(inside, own, {values[0]});
                 });
}

bool TimeBlocks::endsWithZero() const {
  std::optional<SmallVector<bool>> vanish = findVanishingEmitted(loop);
  if (!vanish)
    return false;
  SmallVector<Value> zeros;
  for (auto [vanishes, buffer, emitted] : llvm::zip_equal(*vanish, buffers, loop.getEmitted())) {
    if (vanishes)
      zeros.push_back(emitted);
    else if (!buffer)
      return false;
  }
  return llvm::all_of(sums, [&](const RunningSum &sum) {
    return llvm::any_of(getSummed(sum.op), [&](Value v) { return llvm::is_contained(zeros, v); });
  });
}

void TimeBlocks::emit(OpBuilder &builder, Value block, CotangentSteps &steps, const Rows &state) {
  allocateBuffers(builder);
  for (const RunningSum &sum : sums)
    if (sum.isOwned())
      emitStart(builder, block, sum);
  steps.emitBlocks(builder, block, buffers, endsWithZero(), state,
                   [&](OpBuilder &nested, const LaneSlab &slab) {
                     for (const RunningSum &sum : sums)
                       emitSlab(nested, slab, sum);
                   });
}

void TimeBlocks::finish(OpBuilder &builder) {
  for (const RunningSum &sum : sums) {
    if (!sum.isOwned())
      continue;
    emitFinishSums(builder, module, loc, sum.sums, getSummedBatch(sum.op),
                   sum.op->getOperands().back());
    memref::DeallocOp::create(builder, loc, sum.sums);
  }
}
