//===- CotangentSteps.cpp - applies a link to part of a chain -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CotangentSteps.h"
#include "Sums/TimeBlocks.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace bppsa;

/// How many steps ahead of the chain its arrays are fetched.
static constexpr int64_t kStepsAhead = 4;

VectorType bppsa::getRowType(const CotangentLoop &loop) {
  auto type = cast<MemRefType>(loop.saved[0].getType());
  return VectorType::get(type.getRank() == 4 ? type.getDimSize(3) : 1, type.getElementType());
}

Value bppsa::getNumSteps(OpBuilder &builder, const CotangentLoop &loop) {
  return getDim(builder, loop.op->getLoc(), loop.saved[0], 1);
}

Rows bppsa::allocateRows(OpBuilder &builder, Location loc, int64_t rows, VectorType rowType) {
  SmallVector<int64_t> shape = {rows};
  if (rowType.getDimSize(0) != 1)
    shape.push_back(rowType.getDimSize(0));
  auto type = MemRefType::get(shape, rowType.getElementType());
  return {memref::AllocaOp::create(builder, loc, type, builder.getI64IntegerAttr(64)), {}, 0};
}

void bppsa::emitLoadSeeds(OpBuilder &builder, const CotangentLoop &loop, Value block,
                          const Rows &state) {
  int64_t first = 0;
  for (auto [i, seed] : llvm::enumerate(loop.seeds)) {
    emitCopy(builder, loop.op->getLoc(), {seed, {block}}, state.dropFront(first),
             loop.getStateSize(i));
    first += loop.getStateSize(i);
  }
}

void bppsa::emitStoreCotangents(OpBuilder &builder, const CotangentLoop &loop, Value block,
                                const Rows &state) {
  int64_t first = 0;
  for (size_t i = 0; i < loop.getNumStates(); ++i) {
    emitCopy(builder, loop.op->getLoc(), state.dropFront(first), {loop.destinations[i], {block}},
             loop.getStateSize(i));
    first += loop.getStateSize(i);
  }
}

FailureOr<CotangentSteps> CotangentSteps::create(const CotangentLoop &loop,
                                                 const LaneOptions &options, LinkOptions link) {
  std::unique_ptr<Region> region = cloneLink(loop, link);
  FailureOr<LaneEmitter> emitter = LaneEmitter::create(region->front(), loop.captures, options);
  if (failed(emitter))
    return failure();
  return CotangentSteps(loop, std::move(region), std::move(*emitter), link);
}

CotangentSteps::CotangentSteps(const CotangentLoop &loop, std::unique_ptr<Region> region,
                               LaneEmitter emitter, LinkOptions link)
    : loop(loop), region(std::move(region)), emitter(std::move(emitter)), link(link),
      waiting(loop.getNumStates()) {}

void CotangentSteps::allocateScratch(OpBuilder &builder) {
  Location loc = loop.op->getLoc();
  emitter.allocateScratch(builder, loc);
  for (auto [i, buffer] : llvm::enumerate(waiting)) {
    buffer = {};
    if (!emitter.getPlan().canOverwrite(loop.saved.size() + i, i))
      buffer = allocateRows(builder, loc, loop.getStateSize(i), getRowType(loop)).memref;
  }
}

void CotangentSteps::emit(OpBuilder &builder, Value block, Value first, Value last,
                          const Rows &state) {
  Location loc = loop.op->getLoc();
  emitFor(builder, loc, first, last, 1,
          [&](OpBuilder &nested, Value position) { emitStep(nested, block, position, state); });
}

/// The step at `position`, and the other way round.
Value CotangentSteps::getStep(OpBuilder &builder, Value position) {
  if (loop.reverse)
    return position;
  Location loc = loop.op->getLoc();
  Value numSteps = getNumSteps(builder, loop);
  return addIndex(builder, loc, arith::SubIOp::create(builder, loc, numSteps, position), -1);
}

void CotangentSteps::emitStep(OpBuilder &builder, Value block, Value position, const Rows &state) {
  Value step = getStep(builder, position);
  emitStep(builder, block, step, state,
           [&](size_t emitted) { return Rows{loop.getEmitted()[emitted], {block, step}}; });
}

void CotangentSteps::emit(OpBuilder &builder, Value block, Value first, Value last,
                          ArrayRef<Value> buffers, const Rows &state) {
  Location loc = loop.op->getLoc();
  emitFor(builder, loc, first, last, 1, [&](OpBuilder &nested, Value step) {
    Value fromFirst = arith::SubIOp::create(nested, loc, step, first);
    if (!loop.reverse) {
      step = addIndex(nested, loc, arith::SubIOp::create(nested, loc, last, fromFirst), -1);
      fromFirst = arith::SubIOp::create(nested, loc, step, first);
    }
    emitStep(nested, block, step, state, [&](size_t emitted) {
      return buffers[emitted] ? Rows{buffers[emitted], {fromFirst}}
                              : Rows{loop.getEmitted()[emitted], {block, step}};
    });
  });
}

/// What a chain reads some steps later; nothing for a link that is applied to many columns, which
/// share the rows of a step.
LaterRows CotangentSteps::getLaterRows(OpBuilder &builder, Value block, Value step) {
  LaterRows later;
  if (!link.emit || getRowType(loop).getDimSize(0) == 1)
    return later;
  Location loc = loop.op->getLoc();
  Value last = addIndex(builder, loc, getNumSteps(builder, loop), -1);
  Value laterStep =
      loop.reverse
          ? arith::MinSIOp::create(builder, loc, addIndex(builder, loc, step, kStepsAhead), last)
                .getResult()
          : arith::MaxSIOp::create(builder, loc, addIndex(builder, loc, step, -kStepsAhead),
                                   getIndex(builder, loc, 0));
  for (Value saved : loop.saved)
    later.arguments.push_back({saved, {block, laterStep}});
  later.arguments.append(loop.getNumStates(), Rows());
  if (link.inject)
    for (Value injected : loop.injected)
      later.arguments.push_back({injected, {block, laterStep}});
  return later;
}

void CotangentSteps::emitStep(OpBuilder &builder, Value block, Value step, const Rows &state,
                              EmittedRows getEmittedRows) {
  Location loc = loop.op->getLoc();
  SmallVector<Rows> arguments, results;
  for (Value saved : loop.saved)
    arguments.push_back({saved, {block, step}});
  int64_t first = 0;
  for (size_t i = 0; i < loop.getNumStates(); ++i) {
    arguments.push_back(state.dropFront(first));
    results.push_back(waiting[i] ? Rows{waiting[i]} : arguments.back());
    first += loop.getStateSize(i);
  }
  if (link.inject)
    for (Value injected : loop.injected)
      arguments.push_back({injected, {block, step}});
  if (link.emit)
    for (size_t i = 0; i < loop.getEmitted().size(); ++i)
      results.push_back(getEmittedRows(i));
  emitter.emitStep(builder, loc, arguments, results, getLaterRows(builder, block, step));
  for (size_t i = 0; i < loop.getNumStates(); ++i)
    if (waiting[i])
      emitCopy(builder, loc, results[i], arguments[loop.saved.size() + i], loop.getStateSize(i));
}

LogicalResult bppsa::lowerChain(ChainOp op, ArrayRef<Operation *> sums,
                                const LaneOptions &options) {
  if (!op.getPlan().isSequential())
    return op.emitOpError() << "has the plan '" << op.getPlan().toString()
                            << "'; run bppsa-expand-scan before bufferization";
  CotangentLoop loop = getCotangentLoop(op);
  FailureOr<CotangentSteps> steps = CotangentSteps::create(loop, options, {});
  if (failed(steps))
    return failure();
  Location loc = loop.op->getLoc();
  OpBuilder builder(loop.op);
  std::optional<TimeBlocks> blocks;
  if (!sums.empty())
    blocks.emplace(builder, loop, sums, options);
  Value numBlocks = getDim(builder, loc, loop.saved[0], 0);
  emitParallel(builder, loc, numBlocks, [&](OpBuilder &nested, Value block) {
    steps->allocateScratch(nested);
    Rows state = allocateRows(nested, loc, loop.getTotalSize(), getRowType(loop));
    emitLoadSeeds(nested, loop, block, state);
    if (blocks)
      blocks->emit(nested, block, *steps, state);
    else
      steps->emit(nested, block, getIndex(nested, loc, 0), getNumSteps(nested, loop), state);
    emitStoreCotangents(nested, loop, block, state);
  });
  if (blocks)
    blocks->finish(builder);
  return success();
}
