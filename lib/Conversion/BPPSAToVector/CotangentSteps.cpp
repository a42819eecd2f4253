//===- CotangentSteps.cpp - apply the link of a chain ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CotangentSteps.h"
#include "SampleTasks.h"
#include "Sums/TimeBlocks.h"
#include "bppsa/Dialect/BPPSA/Analysis/VanishingValues.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

/// Prefetch distance in steps.
static constexpr int64_t kReadStepsAhead = 4;

VectorType bppsa::getRowType(const CotangentLoop &loop) {
  auto type = cast<MemRefType>(loop.saved[0].getType());
  return VectorType::get(type.getRank() == 4 ? type.getDimSize(3) : 1, type.getElementType());
}

Value bppsa::getNumSteps(OpBuilder &builder, const CotangentLoop &loop) {
  return getDim(builder, loop.op->getLoc(), loop.saved[0], 1);
}

static int64_t getRowsOfStep(Value sequence) {
  return cast<MemRefType>(sequence.getType()).getDimSize(2);
}

/// Calls `emit(array, rows, count)` with each state's rows in `arrays` and in `state`.
static void
forEachState(OpBuilder &builder, const CotangentLoop &loop, ValueRange arrays, Value block,
             const Rows &state, int64_t samples,
             function_ref<void(OpBuilder &, const Rows &array, const Rows &, int64_t count)> emit) {
  Location loc = loop.op->getLoc();
  emitForSamples(builder, loc, samples, [&](OpBuilder &nested, Value sample) {
    Rows own = state.ofSample(nested, loc, sample);
    for (auto [i, array] : llvm::enumerate(arrays)) {
      emit(nested, Rows{array, {block}}.ofSample(nested, loc, sample), own, loop.getStateSize(i));
      own = own.dropFront(loop.getStateSize(i));
    }
  });
}

void bppsa::emitLoadSeeds(OpBuilder &builder, const CotangentLoop &loop, Value block,
                          const Rows &state, int64_t samples) {
  forEachState(builder, loop, loop.seeds, block, state, samples,
               [&](OpBuilder &nested, const Rows &seed, const Rows &own, int64_t count) {
                 emitCopy(nested, loop.op->getLoc(), seed, own, count);
               });
}

void bppsa::emitStoreCotangents(OpBuilder &builder, const CotangentLoop &loop, Value block,
                                const Rows &state, int64_t samples) {
  forEachState(builder, loop, loop.destinations.take_front(loop.getNumStates()), block, state,
               samples,
               [&](OpBuilder &nested, const Rows &destination, const Rows &own, int64_t count) {
                 emitCopy(nested, loop.op->getLoc(), own, destination, count);
               });
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
      order(loop.op, /*isBackward=*/!loop.reverse), waiting(loop.getNumStates()) {}

void CotangentSteps::allocateScratch(OpBuilder &builder) {
  Location loc = loop.op->getLoc();
  IntegerType integer = builder.getIntegerType(loop.getElementType().getIntOrFloatBitWidth());
  bits = memref::AllocaOp::create(builder, loc, MemRefType::get({}, integer));
  emitter.allocateScratch(builder, loc);
  for (auto [i, rows] : llvm::enumerate(waiting)) {
    rows = {};
    if (!emitter.getPlan().canOverwrite(loop.saved.size() + i, i))
      rows =
          allocateRows(builder, loc, loop.getStateSize(i), getRowType(loop), emitter.getSamples());
  }
}

void CotangentSteps::emit(OpBuilder &builder, Value block, const Rows &state) {
  emitFor(builder, [&](OpBuilder &nested, Value step) { emitStep(nested, block, step, state); });
}

void CotangentSteps::emitFor(OpBuilder &builder, function_ref<void(OpBuilder &, Value)> body) {
  Location loc = loop.op->getLoc();
  order.emitFor(builder, loc, getIndex(builder, loc, 0), getNumSteps(builder, loop), body);
}

void CotangentSteps::emitStep(OpBuilder &builder, Value block, Value step, const Rows &state) {
  emitStep(builder, block, step, state,
           [&](size_t emitted) { return Rows{loop.getEmitted()[emitted], {block, step}}; });
}

void CotangentSteps::emit(OpBuilder &builder, const LaneSlab &steps, ArrayRef<Value> buffers,
                          const Rows &state) {
  Location loc = loop.op->getLoc();
  order.emitFor(builder, loc, steps.first, steps.last, [&](OpBuilder &nested, Value step) {
    Value fromFirst = arith::SubIOp::create(nested, loc, step, steps.first);
    emitStep(nested, steps.block, step, state, [&](size_t emitted) {
      return buffers[emitted] ? Rows{buffers[emitted], {fromFirst}}
                              : Rows{loop.getEmitted()[emitted], {steps.block, step}};
    });
  });
}

/// Columns that share the rows of a step prefetch none.
LaterRows CotangentSteps::getLaterRows(OpBuilder &builder, Value block, Value step) {
  LaterRows later;
  if (!link.emit || getRowType(loop).getDimSize(0) == 1)
    return later;
  Location loc = loop.op->getLoc();
  Value laterStep =
      order.getLaterStep(builder, loc, step, kReadStepsAhead, getNumSteps(builder, loop));
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
    results.push_back(waiting[i].memref ? waiting[i] : arguments.back());
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
    if (waiting[i].memref)
      emitForSamples(builder, loc, getSamples(), [&](OpBuilder &nested, Value sample) {
        emitCopy(nested, loc, results[i].ofSample(nested, loc, sample),
                 arguments[loop.saved.size() + i].ofSample(nested, loc, sample),
                 loop.getStateSize(i));
      });
}

static void emitJoinBits(OpBuilder &builder, Location loc, const Rows &rows, int64_t count,
                         Value bits) {
  Type type = getElementTypeOrSelf(bits);
  emitTiles(builder, loc, rows, 0, count, [&](OpBuilder &nested, const Tile &tile) {
    Value asBits = arith::BitcastOp::create(nested, loc, VectorType::get(tile.width, type),
                                            rows.load(nested, loc, tile));
    Value joined = vector::ReductionOp::create(nested, loc, vector::CombiningKind::OR, asBits,
                                               memref::LoadOp::create(nested, loc, bits));
    memref::StoreOp::create(nested, loc, joined, bits);
  });
}

/// Zeros may have either sign.
static Value emitAreZero(OpBuilder &builder, Location loc, Value bits) {
  Value joined = memref::LoadOp::create(builder, loc, bits);
  Value one = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(joined.getType(), 1));
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(joined.getType()));
  Value withoutSign = arith::ShLIOp::create(builder, loc, joined, one);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, withoutSign, zero);
}

Value CotangentSteps::emitIsZero(OpBuilder &builder, const LaneSlab &steps, const Rows &state) {
  Location loc = loop.op->getLoc();
  auto none = builder.getZeroAttr(getElementTypeOrSelf(bits));
  memref::StoreOp::create(builder, loc, arith::ConstantOp::create(builder, loc, none), bits);
  emitForSamples(builder, loc, getSamples(), [&](OpBuilder &nested, Value sample) {
    emitJoinBits(nested, loc, state.ofSample(nested, loc, sample), loop.getTotalSize(), bits);
  });
  Value isZero = emitAreZero(builder, loc, bits);
  if (loop.injected.empty())
    return isZero;
  auto emitInjected = [&](OpBuilder &inside, Location) {
    bppsa::emitFor(inside, loc, steps.first, steps.last, 1, [&](OpBuilder &inStep, Value step) {
      for (Value injected : loop.injected)
        emitForSamples(inStep, loc, getSamples(), [&](OpBuilder &nested, Value sample) {
          emitJoinBits(nested, loc,
                       Rows{injected, {steps.block, step}}.ofSample(nested, loc, sample),
                       getRowsOfStep(injected), bits);
        });
    });
    scf::YieldOp::create(inside, loc, emitAreZero(inside, loc, bits));
  };
  auto emitFalse = [&](OpBuilder &inside, Location) { scf::YieldOp::create(inside, loc, isZero); };
  return scf::IfOp::create(builder, loc, isZero, emitInjected, emitFalse).getResult(0);
}

void CotangentSteps::emitZeros(OpBuilder &builder, const LaneSlab &steps, ArrayRef<Value> buffers) {
  Location loc = loop.op->getLoc();
  bppsa::emitFor(builder, loc, steps.first, steps.last, 1, [&](OpBuilder &nested, Value step) {
    emitForSamples(nested, loc, getSamples(), [&](OpBuilder &inside, Value sample) {
      for (auto [buffer, emitted] : llvm::zip_equal(buffers, loop.getEmitted()))
        if (!buffer)
          emitZeroRows(inside, loc,
                       Rows{emitted, {steps.block, step}}.ofSample(inside, loc, sample),
                       getRowsOfStep(emitted));
    });
  });
}

void CotangentSteps::emitBlocks(OpBuilder &builder, Value block, ArrayRef<Value> buffers,
                                bool endsWithZero, const Rows &state,
                                function_ref<void(OpBuilder &, const LaneSlab &)> use) {
  Location loc = loop.op->getLoc();
  Value numSteps = getNumSteps(builder, loop);
  order.emitForSlabs(builder, loc, block, numSteps, [&](OpBuilder &nested, const LaneSlab &steps) {
    auto emitSteps = [&](OpBuilder &inside) {
      emit(inside, steps, buffers, state);
      use(inside, steps);
    };
    if (!endsWithZero)
      return emitSteps(nested);
    scf::IfOp::create(
        nested, loc, emitIsZero(nested, steps, state),
        [&](OpBuilder &inside, Location) {
          emitZeros(inside, steps, buffers);
          scf::YieldOp::create(inside, loc);
        },
        [&](OpBuilder &inside, Location) {
          emitSteps(inside);
          scf::YieldOp::create(inside, loc);
        });
  });
}

void CotangentSteps::emitAll(OpBuilder &builder, Value block, const Rows &state) {
  std::optional<SmallVector<bool>> vanish = findVanishingEmitted(loop);
  SmallVector<Value> noBuffers(loop.getEmitted().size());
  if (vanish && llvm::all_of(*vanish, [](bool vanishes) { return vanishes; }))
    return emitBlocks(builder, block, noBuffers, /*endsWithZero=*/true, state,
                      [](OpBuilder &, const LaneSlab &) {});
  emit(builder, block, state);
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
  // Each batch block has its own sums.
  int64_t most = blocks ? 1 : steps->getMaxSamples(getMaxTaskSamples(op));
  emitSampleTasks(
      builder, op, numBlocks, most, [&](OpBuilder &nested, Value block, int64_t samples) {
        steps->setSamples(samples);
        steps->allocateScratch(nested);
        Rows state = allocateRows(nested, loc, loop.getTotalSize(), getRowType(loop), samples);
        emitLoadSeeds(nested, loop, block, state, samples);
        if (blocks)
          blocks->emit(nested, block, *steps, state);
        else
          steps->emitAll(nested, block, state);
        emitStoreCotangents(nested, loop, block, state, samples);
      });
  if (blocks)
    blocks->finish(builder);
  return success();
}
