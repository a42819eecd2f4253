//===- RowLoops.cpp - loops over transitions, row by row ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Rows (samples) are independent, so each row and parallel iteration has a block, each vector
// element a thread.
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"
#include "../../Codegen/GPU/Launch.h"
#include "CarryLoop.h"
#include "DeviceMaps.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bppsa;

static int64_t getSize(Value array) { return cast<MemRefType>(array.getType()).getShape().back(); }

static bool iteratesOverRows(Operation *op) {
  return isa<ApplyTransitionOp, ComposeTransitionsOp, memref::CopyOp>(op);
}

static bool isKnown(Operation *op) {
  auto isWhole = [](MemRefType type) { return type.getRank() == 2 && !type.isDynamicDim(1); };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](memref::CopyOp copy) {
        return isWhole(cast<MemRefType>(copy.getTarget().getType()));
      })
      .Case<memref::AllocOp, memref::AllocaOp>(
          [&](auto allocation) { return isWhole(allocation.getType()); })
      .Case<scf::ForOp, scf::IfOp>([](auto loop) { return loop.getNumResults() == 0; })
      .Case<ApplyTransitionOp, ComposeTransitionsOp>([](auto op) { return !op.getLanes(); })
      .Case([](memref::DeallocOp) { return true; })
      .Default([](Operation *other) {
        return other->hasTrait<OpTrait::IsTerminator>() ||
               (isMemoryEffectFree(other) && other->getNumRegions() == 0);
      });
}

static LogicalResult verifyRows(Operation *loop) {
  bool takesAny = false;
  WalkResult result = loop->walk([&](Operation *op) {
    takesAny |= iteratesOverRows(op);
    if (op == loop || isKnown(op))
      return WalkResult::advance();
    refuseOp(op, "has no kernel in a loop of transitions; use --target=cpu");
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  if (!takesAny)
    return refuseOp(loop, "has no kernels for GPUs; use --target=cpu");
  return success();
}

static Value countRows(OpBuilder &builder, Operation *loop) {
  Value vector;
  loop->walk([&](Operation *op) {
    if (iteratesOverRows(op))
      vector = op->getOperands().back();
    return vector ? WalkResult::interrupt() : WalkResult::advance();
  });
  auto view = vector.getDefiningOp<memref::SubViewOp>();
  if (!view || !loop->isProperAncestor(view))
    return getDim(builder, loop->getLoc(), vector, 0);
  auto kept = view.getDroppedDims().flip();
  return getValueOrCreateConstantIndexOp(builder, loop->getLoc(),
                                         view.getMixedSizes()[kept.find_first()]);
}

static int64_t countThreads(Operation *loop) {
  int64_t most = 1;
  loop->walk([&](Operation *op) {
    if (iteratesOverRows(op))
      most = std::max(most, getSize(op->getOperands().back()));
  });
  return std::min(roundUpToWarps(most), kMaxThreads);
}

namespace {
/// Converts operations from all rows to the row of a block.
class RowKernel {
public:
  RowKernel(bgpu::KernelOp kernel, Value row) : kernel(kernel), row(row) {}
  void convert();

private:
  void convert(OpBuilder &builder, ApplyTransitionOp op);
  void convert(OpBuilder &builder, ComposeTransitionsOp op);
  void convert(OpBuilder &builder, memref::CopyOp op);
  void forEachValue(OpBuilder &builder, Location loc, int64_t size,
                    function_ref<void(OpBuilder &, Value)> body);
  Place getVector(Value array) const;
  DeviceMap getMap(ComposeTransitionsOp op, Value array) const;
  void shareAllocation(Operation *allocation);

  bgpu::KernelOp kernel;
  Value row;
  DenseMap<Value, Value> ofBlock;
};
} // namespace

void RowKernel::forEachValue(OpBuilder &builder, Location loc, int64_t size,
                             function_ref<void(OpBuilder &, Value)> body) {
  int64_t threads = kernel.getThreads();
  for (int64_t first = 0; first < size; first += threads)
    bgpu::ForEachOp::create(builder, loc, std::min(threads, size - first), ValueRange(),
                            [&](OpBuilder &inThread, ValueRange at, ValueRange) {
                              body(inThread,
                                   first == 0 ? at[0] : addIndex(inThread, loc, at[0], first));
                            });
}

Place RowKernel::getVector(Value array) const {
  if (Value shared = ofBlock.lookup(array))
    return {shared, {}};
  return {array, {row}};
}

DeviceMap RowKernel::getMap(ComposeTransitionsOp op, Value array) const {
  int64_t size = getSize(array);
  int64_t columns = cast<MemRefType>(array.getType()).getDimSize(1);
  bool hasOffset = columns > (op.getDiagonal() ? 1 : size);
  return {{size, hasOffset, op.getDiagonal()}, array, {row}};
}

void RowKernel::convert(OpBuilder &builder, ApplyTransitionOp op) {
  Location loc = op.getLoc();
  DeviceMap map = {AffineMapLayout::get(op), op.getTransition(), {row}};
  Place from = getVector(op.getCotangent()), to = getVector(op.getDestination());
  forEachValue(builder, loc, map.size, [&](OpBuilder &inThread, Value value) {
    to.store(inThread, loc, emitApply(inThread, loc, map, from, value), value);
  });
}

void RowKernel::convert(OpBuilder &builder, ComposeTransitionsOp op) {
  Location loc = op.getLoc();
  DeviceMap first = getMap(op, op.getFirst()), second = getMap(op, op.getSecond()),
            target = getMap(op, op.getDestination());
  forEachValue(builder, loc, target.size, [&](OpBuilder &inThread, Value value) {
    emitComposedRow(inThread, loc, first, second, target, value);
  });
}

void RowKernel::convert(OpBuilder &builder, memref::CopyOp op) {
  Location loc = op.getLoc();
  Place from = getVector(op.getSource()), to = getVector(op.getTarget());
  forEachValue(builder, loc, getSize(op.getTarget()), [&](OpBuilder &inThread, Value value) {
    to.store(inThread, loc, from.load(inThread, loc, value), value);
  });
}

void RowKernel::shareAllocation(Operation *allocation) {
  Value array = allocation->getResult(0);
  MemRefType type = bgpu::getSharedType(getSize(array), getElementTypeOrSelf(array));
  auto builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  ofBlock[array] = memref::AllocOp::create(builder, allocation->getLoc(), type);
}

void RowKernel::convert() {
  for (scf::ForOp loop : llvm::make_early_inc_range(kernel.getBody().getOps<scf::ForOp>()))
    if (std::optional<CarryLoop> carries = CarryLoop::match(kernel, loop))
      carries->convert();
  SmallVector<Operation *> ofRows, allocations;
  kernel.walk([&](Operation *op) {
    if (isa<memref::AllocOp, memref::AllocaOp, memref::DeallocOp>(op))
      allocations.push_back(op);
    else if (iteratesOverRows(op))
      ofRows.push_back(op);
  });
  for (Operation *op : allocations)
    if (!isa<memref::DeallocOp>(op))
      shareAllocation(op);
  for (Operation *op : ofRows) {
    OpBuilder builder(op);
    llvm::TypeSwitch<Operation *>(op).Case<ApplyTransitionOp, ComposeTransitionsOp, memref::CopyOp>(
        [&](auto known) { convert(builder, known); });
    op->erase();
  }
  for (Operation *op : llvm::reverse(allocations))
    op->erase();
}

LogicalResult bppsa::convertRowLoop(scf::ForallOp loop) {
  if (loop.getRank() != 1)
    return loop->emitOpError("has ") << loop.getRank() << " dimensions, and a loop of transitions "
                                     << "one; run bppsa-expand-scan with whole-levels";
  if (failed(verifyRows(loop)))
    return failure();
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value lower = getValueOrCreateConstantIndexOp(builder, loc, loop.getMixedLowerBound()[0]);
  Value upper = getValueOrCreateConstantIndexOp(builder, loc, loop.getMixedUpperBound()[0]);
  Value count = builder.createOrFold<arith::SubIOp>(loc, upper, lower);
  Value numRows = countRows(builder, loop);
  Value row;
  auto emitBlock = [&](OpBuilder &nested, Value block) {
    SmallVector<Value> digits = {getIndex(nested, loc, 0), block};
    if (!isConstantIntValue(numRows, 1))
      digits = splitIndex(nested, loc, block, {Value(), count});
    row = digits[0];
    IRMapping mapping;
    mapping.map(loop.getInductionVar(0), addIndex(nested, loc, digits[1], lower));
    for (Operation &op : loop.getBody()->without_terminator())
      nested.clone(op, mapping);
  };
  auto kernel = bgpu::KernelOp::create(builder, loc, mulIndex(builder, loc, numRows, count),
                                       countThreads(loop), emitBlock);
  RowKernel(kernel, row).convert();
  return success();
}

LogicalResult bppsa::convertRowLoop(scf::ForOp loop) {
  if (failed(verifyRows(loop)))
    return failure();
  OpBuilder builder(loop);
  auto kernel =
      bgpu::KernelOp::create(builder, loop.getLoc(), countRows(builder, loop), countThreads(loop),
                             [&](OpBuilder &nested, Value) { nested.clone(*loop); });
  RowKernel(kernel, kernel.getBody().getArgument(0)).convert();
  return success();
}
