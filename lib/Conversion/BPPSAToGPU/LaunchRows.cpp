//===- LaunchRows.cpp - products of transitions, row by row ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Products of transitions and copies of vectors take each row, the sequence of one
// sample, by itself. So a loop of them is one launch: a block has a row, and for a
// parallel loop an iteration, and its threads the values of a vector.
//
//===----------------------------------------------------------------------===//

#include "BPPSAToGPU.h"
#include "ParallelLoops.h"
#include "TimeLoops/CarryLoop.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// What a block has for a loop.
struct BlockNeeds {
  int64_t numThreads;
  /// Memory that an iteration has for itself, of which a block shares one row.
  SmallVector<Value> allocations;
  SmallVector<MemRefType> shared;
  /// The shared arrays of it are behind the others.
  std::optional<CarryLoop> carries;
};

/// Emits operations for one row, by all threads of a block.
class RowEmitter {
public:
  RowEmitter(const LaunchedThread &thread, Value row, BlockNeeds &needs)
      : thread(thread), row(row), carries(needs.carries) {
    for (auto [allocation, shared] : llvm::zip(needs.allocations, thread.shared))
      ofBlock[allocation] = shared;
  }

  /// `own` is `value` in the launch.
  void map(Value value, Value own) { mapping.map(value, own); }
  void emit(OpBuilder &builder, Block &block);
  void emit(OpBuilder &builder, scf::ForOp op);

private:
  /// What threads have done since they last waited for each other.
  enum class Pending { Nothing, OwnValues, AnyValues };

  void emit(OpBuilder &builder, ApplyTransitionOp op);
  void emit(OpBuilder &builder, ComposeTransitionsOp op);
  void emit(OpBuilder &builder, memref::CopyOp op);
  void emit(OpBuilder &builder, scf::IfOp op);
  /// Waits where threads may have done more than `allowed`.
  void waitUnless(OpBuilder &builder, Location loc, Pending allowed);
  Place getVector(Value array) const;
  DeviceMap getMap(ComposeTransitionsOp op, Value array) const;

  LaunchedThread thread;
  Value row;
  std::optional<CarryLoop> &carries;
  IRMapping mapping;
  DenseMap<Value, Value> ofBlock;
  Pending pending = Pending::Nothing;
};
} // namespace

static int64_t getSize(Value array) { return cast<MemRefType>(array.getType()).getShape().back(); }

void RowEmitter::waitUnless(OpBuilder &builder, Location loc, Pending allowed) {
  if (pending <= allowed)
    return;
  emitBarrier(builder, loc);
  pending = Pending::Nothing;
}

Place RowEmitter::getVector(Value array) const {
  if (Value shared = ofBlock.lookup(array))
    return {shared, {}};
  return {mapping.lookupOrDefault(array), {row}};
}

DeviceMap RowEmitter::getMap(ComposeTransitionsOp op, Value array) const {
  int64_t size = getSize(array);
  int64_t columns = cast<MemRefType>(array.getType()).getDimSize(1);
  bool hasOffset = columns > (op.getDiagonal() ? 1 : size);
  return {{size, hasOffset, op.getDiagonal()}, mapping.lookupOrDefault(array), {row}};
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Reads what other threads may have written; a thread writes its own value.
void RowEmitter::emit(OpBuilder &builder, ApplyTransitionOp op) {
  Location loc = op.getLoc();
  waitUnless(builder, loc, Pending::Nothing);
  Value transition = mapping.lookupOrDefault(op.getTransition());
  DeviceMap map = {AffineMapLayout::get(op), transition, {row}};
  Place from = getVector(op.getCotangent()), to = getVector(op.getDestination());
  emitRows(builder, loc, thread, map.size, [&](OpBuilder &nested, Value value) {
    to.store(nested, loc, emitApply(nested, loc, map, from, value), value);
  });
  pending = Pending::AnyValues;
}

void RowEmitter::emit(OpBuilder &builder, ComposeTransitionsOp op) {
  Location loc = op.getLoc();
  waitUnless(builder, loc, Pending::Nothing);
  DeviceMap first = getMap(op, op.getFirst()), second = getMap(op, op.getSecond()),
            target = getMap(op, op.getDestination());
  emitRows(builder, loc, thread, target.size, [&](OpBuilder &nested, Value value) {
    emitComposedRow(nested, loc, first, second, target, value);
  });
  pending = Pending::AnyValues;
}

/// Whether row n of `array` is not element n of a vector in memory.
static bool isShifted(Value array) {
  auto view = array.getDefiningOp<memref::SubViewOp>();
  return view && !isConstantIntValue(view.getMixedOffsets().back(), 0);
}

/// Each thread reads and writes its own value, but where one of them is behind others.
void RowEmitter::emit(OpBuilder &builder, memref::CopyOp op) {
  Location loc = op.getLoc();
  bool isOwn = !isShifted(op.getSource()) && !isShifted(op.getTarget());
  waitUnless(builder, loc, isOwn ? Pending::OwnValues : Pending::Nothing);
  Place from = getVector(op.getSource()), to = getVector(op.getTarget());
  emitRows(builder, loc, thread, getSize(op.getTarget()), [&](OpBuilder &nested, Value value) {
    to.store(nested, loc, from.load(nested, loc, value), value);
  });
  pending = std::max(pending, isOwn ? Pending::OwnValues : Pending::AnyValues);
}

void RowEmitter::emit(OpBuilder &builder, scf::ForOp op) {
  if (carries && carries->is(op)) {
    waitUnless(builder, op.getLoc(), Pending::OwnValues);
    carries->emit(builder, thread, thread.shared.drop_front(ofBlock.size()), mapping);
    pending = Pending::AnyValues;
    return;
  }
  auto loop = scf::ForOp::create(builder, op.getLoc(), mapping.lookupOrDefault(op.getLowerBound()),
                                 mapping.lookupOrDefault(op.getUpperBound()),
                                 mapping.lookupOrDefault(op.getStep()));
  mapping.map(op.getInductionVar(), loop.getInductionVar());
  // Of the iteration before.
  pending = Pending::AnyValues;
  OpBuilder nested = OpBuilder::atBlockBegin(loop.getBody());
  emit(nested, *op.getBody());
  pending = Pending::AnyValues;
}

/// The condition is the same for all threads of a block.
void RowEmitter::emit(OpBuilder &builder, scf::IfOp op) {
  auto branch = scf::IfOp::create(builder, op.getLoc(), mapping.lookupOrDefault(op.getCondition()),
                                  /*withElseRegion=*/op.elseBlock() != nullptr);
  Pending before = pending;
  OpBuilder then = OpBuilder::atBlockBegin(branch.thenBlock());
  emit(then, *op.thenBlock());
  if (!op.elseBlock()) {
    pending = std::max(pending, before);
    return;
  }
  Pending afterThen = std::exchange(pending, before);
  OpBuilder otherwise = OpBuilder::atBlockBegin(branch.elseBlock());
  emit(otherwise, *op.elseBlock());
  pending = std::max(pending, afterThen);
}

void RowEmitter::emit(OpBuilder &builder, Block &block) {
  for (Operation &op : block.without_terminator())
    llvm::TypeSwitch<Operation *>(&op)
        .Case<ApplyTransitionOp, ComposeTransitionsOp, memref::CopyOp, scf::ForOp, scf::IfOp>(
            [&](auto known) { emit(builder, known); })
        .Case<memref::AllocOp, memref::AllocaOp, memref::DeallocOp>([](auto) {})
        .Default([&](Operation *index) { builder.clone(*index, mapping); });
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Whether RowEmitter knows what to do with `op`, which is in a loop.
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

static bool takesRows(Operation *op) {
  return isa<ApplyTransitionOp, ComposeTransitionsOp, memref::CopyOp>(op);
}

/// Fails after a diagnostic where `loop` has no kernel.
static LogicalResult verifyRows(Operation *loop) {
  bool takesAny = false;
  WalkResult result = loop->walk([&](Operation *op) {
    takesAny |= takesRows(op);
    if (op == loop || isKnown(op))
      return WalkResult::advance();
    op->emitOpError("has no kernel in a loop of transitions; use --target=cpu");
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  if (!takesAny)
    return loop->emitOpError("has no kernels for GPUs; use --target=cpu");
  return success();
}

/// The number of rows that the operations in `loop` take, at `builder`, outside of it.
static Value countRows(OpBuilder &builder, Operation *loop) {
  Value vector;
  loop->walk([&](Operation *op) {
    if (takesRows(op))
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

static BlockNeeds getNeeds(Operation *loop) {
  BlockNeeds needs;
  int64_t most = 1;
  loop->walk([&](Operation *op) {
    if (takesRows(op))
      most = std::max(most, getSize(op->getOperands().back()));
    if (isa<memref::AllocOp, memref::AllocaOp>(op)) {
      Value allocation = op->getResult(0);
      needs.allocations.push_back(allocation);
      needs.shared.push_back(
          MemRefType::get({getSize(allocation)}, getElementTypeOrSelf(allocation)));
    }
  });
  needs.numThreads = std::min(roundUpToWarps(most), kMostThreads);
  return needs;
}

/// The loop over carries that an iteration of `loop` has; none where it has no such loop.
static std::optional<CarryLoop> findCarries(scf::ForallOp loop) {
  for (auto inner : loop.getBody()->getOps<scf::ForOp>())
    if (std::optional<CarryLoop> carries = CarryLoop::match(loop, inner))
      return carries;
  return {};
}

LogicalResult bppsa::launchRows(scf::ForallOp loop) {
  if (loop.getRank() != 1)
    return loop->emitOpError("has ") << loop.getRank() << " dimensions, and a loop of transitions "
                                     << "one; run bppsa-expand-scan with whole-levels";
  if (failed(verifyRows(loop)))
    return failure();
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value lower = getValueOrCreateConstantIndexOp(builder, loc, loop.getMixedLowerBound()[0]);
  Value count = countIterations(builder, loop)[0], numRows = countRows(builder, loop);
  Value numBlocks = mulIndex(builder, loc, numRows, count);
  BlockNeeds needs = getNeeds(loop);
  if ((needs.carries = findCarries(loop))) {
    needs.carries->prepare(builder);
    llvm::append_range(needs.shared, needs.carries->getSharedTypes());
  }
  emitLaunch(builder, loc, numBlocks, needs.numThreads, needs.shared,
             [&](OpBuilder &nested, const LaunchedThread &thread) {
               // One row needs no division.
               SmallVector<Value> digits = {getIndex(nested, loc, 0), thread.block};
               if (!isConstantIntValue(numRows, 1))
                 digits = splitIndex(nested, loc, thread.block, {Value(), count});
               RowEmitter emitter(thread, digits[0], needs);
               emitter.map(loop.getInductionVar(0), addIndex(nested, loc, digits[1], lower));
               emitter.emit(nested, *loop.getBody());
             });
  return success();
}

bool bppsa::hasCarries(scf::ForallOp loop) { return findCarries(loop).has_value(); }
