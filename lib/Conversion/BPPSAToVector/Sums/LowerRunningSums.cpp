//===- LowerRunningSums.cpp - sums over several loops ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../TimeOrder.h"
#include "SumBlocks.h"
#include "bppsa/Support/SharedCode.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

void bppsa::forEachRow(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape,
                       function_ref<void(OpBuilder &, ArrayRef<Value> row, int64_t count)> emit) {
  if (shape.size() == 2)
    return emit(builder, {}, shape[0]);
  emitFor(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, shape[0]), 1,
          [&](OpBuilder &nested, Value row) { emit(nested, row, shape[1]); });
}

void bppsa::lowerAddToSums(AddToSumsOp op, const LaneOptions &options) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SlabArray lhs = {op.getLhs()}, rhs = {op.getRhs()};
  Value sums = op.getDestination();
  emitParallel(builder, loc, getDim(builder, loc, sums, 0), [&](OpBuilder &task, Value block) {
    std::optional<OuterSlabSums> outer;
    if (op.getRhs())
      outer.emplace(task, loc, lhs, rhs, OuterBlocking::get(lhs, rhs, options), rhs.getNumRows());
    TimeOrder order(op, /*isBackward=*/!op.getReverse());
    Value numSteps = getDim(task, loc, op.getLhs(), 1);
    order.emitForSlabs(task, loc, block, numSteps, [&](OpBuilder &nested, const LaneSlab &slab) {
      if (outer)
        outer->emitAll(nested, slab, {sums, {block}});
      else
        emitStepSlab(nested, loc, lhs, slab, {sums, {block}}, options);
    });
  });
}

static SmallVector<Value, 3> concat(Value first, ArrayRef<Value> rest) {
  SmallVector<Value, 3> all = {first};
  llvm::append_range(all, rest);
  return all;
}

/// Lanes without a sample are zero.
static Value emitLoadPresent(OpBuilder &builder, Location loc, const Rows &sums, Value entry,
                             Value block, Value batch) {
  Value lanes = sums.load(builder, loc, entry);
  if (!batch)
    return lanes;
  auto type = cast<VectorType>(lanes.getType());
  Value width = getIndex(builder, loc, type.getDimSize(0));
  Value present =
      arith::SubIOp::create(builder, loc, batch, arith::MulIOp::create(builder, loc, block, width));
  Value mask = vector::CreateMaskOp::create(
      builder, loc, VectorType::get(type.getShape(), builder.getI1Type()), present);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  return arith::SelectOp::create(builder, loc, mask, lanes, zero);
}

/// Adds batch blocks from last to first, then lanes.
static void emitReduction(OpBuilder &builder, Location loc, Value sums, Value batch,
                          Value destination) {
  Value numBlocks = getDim(builder, loc, sums, 0);
  VectorType type = Rows{sums}.getRowType();
  auto shape = cast<MemRefType>(sums.getType()).getShape().drop_front();
  forEachRow(builder, loc, shape, [&](OpBuilder &inRow, ArrayRef<Value> row, int64_t count) {
    emitFor(inRow, loc, getIndex(inRow, loc, 0), getIndex(inRow, loc, count), 1,
            [&](OpBuilder &nested, Value entry) {
              Value zero = arith::ConstantOp::create(nested, loc, nested.getZeroAttr(type));
              auto total = scf::ForOp::create(
                  nested, loc, getIndex(nested, loc, 0), numBlocks, getIndex(nested, loc, 1), zero,
                  [&](OpBuilder &inBlock, Location, Value number, ValueRange carried) {
                    Value left = arith::SubIOp::create(inBlock, loc, numBlocks, number);
                    Value block = addIndex(inBlock, loc, left, -1);
                    Value lanes = emitLoadPresent(inBlock, loc, {sums, concat(block, row)}, entry,
                                                  block, batch);
                    Value next = arith::AddFOp::create(inBlock, loc, carried[0], lanes);
                    scf::YieldOp::create(inBlock, loc, next);
                  });
              Value result = vector::ReductionOp::create(nested, loc, vector::CombiningKind::ADD,
                                                         total.getResult(0));
              SmallVector<Value> indices(row);
              indices.push_back(entry);
              memref::StoreOp::create(nested, loc, result, destination, indices);
            });
  });
}

void bppsa::emitFinishSums(OpBuilder &builder, ModuleOp module, Location loc, Value sums,
                           Value batch, Value destination) {
  SmallVector<Value> arguments = {sums, destination};
  if (batch)
    arguments.push_back(batch);
  emitSharedCall(builder, module, loc, batch ? "finish_sums_of" : "finish_sums", arguments,
                 [&](OpBuilder &inside, ValueRange values) {
                   emitReduction(inside, loc, values[0], batch ? values[2] : Value(), values[1]);
                 });
}

void bppsa::lowerFinishSums(FinishSumsOp op) {
  OpBuilder builder(op);
  emitFinishSums(builder, op->getParentOfType<ModuleOp>(), op.getLoc(), op.getSums(), op.getBatch(),
                 op.getDestination());
}
