//===- CotangentSteps.cpp - applies a link to part of a chain -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CotangentSteps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace bppsa;

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

void CotangentSteps::emitStep(OpBuilder &builder, Value block, Value position, const Rows &state) {
  Location loc = loop.op->getLoc();
  Value step = position;
  if (!loop.reverse) {
    Value numSteps = getNumSteps(builder, loop);
    step = addIndex(builder, loc, arith::SubIOp::create(builder, loc, numSteps, position), -1);
  }
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
    for (Value emitted : loop.getEmitted())
      results.push_back({emitted, {block, step}});
  emitter.emitStep(builder, loc, arguments, results);
  for (size_t i = 0; i < loop.getNumStates(); ++i)
    if (waiting[i])
      emitCopy(builder, loc, results[i], arguments[loop.saved.size() + i], loop.getStateSize(i));
}

LogicalResult bppsa::lowerChain(ChainOp op, const LaneOptions &options) {
  if (!op.getPlan().isSequential())
    return op.emitOpError() << "has the plan '" << op.getPlan().toString()
                            << "'; run bppsa-expand-scan before bufferization";
  CotangentLoop loop = getCotangentLoop(op);
  FailureOr<CotangentSteps> steps = CotangentSteps::create(loop, options, {});
  if (failed(steps))
    return failure();
  Location loc = loop.op->getLoc();
  OpBuilder builder(loop.op);
  Value numBlocks = getDim(builder, loc, loop.saved[0], 0);
  emitParallel(builder, loc, numBlocks, [&](OpBuilder &nested, Value block) {
    steps->allocateScratch(nested);
    Rows state = allocateRows(nested, loc, loop.getTotalSize(), getRowType(loop));
    emitLoadSeeds(nested, loop, block, state);
    steps->emit(nested, block, getIndex(nested, loc, 0), getNumSteps(nested, loop), state);
    emitStoreCotangents(nested, loop, block, state);
  });
  return success();
}
