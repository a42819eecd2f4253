//===- BlockWalk.cpp - a block of threads walks a chain -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BlockWalk.h"
#include "BPPSAToGPU.h"

using namespace mlir;
using namespace bppsa;

Value bppsa::countSteps(OpBuilder &builder, const CotangentLoop &loop) {
  return getDim(builder, loop.op->getLoc(), loop.saved[0], 0);
}

Value bppsa::countSamples(OpBuilder &builder, const CotangentLoop &loop) {
  return getDim(builder, loop.op->getLoc(), loop.seeds[0], 0);
}

Value bppsa::getStep(OpBuilder &builder, const CotangentLoop &loop, Value position) {
  if (loop.reverse)
    return position;
  Location loc = loop.op->getLoc();
  Value numSteps = countSteps(builder, loop);
  return addIndex(builder, loc, arith::SubIOp::create(builder, loc, numSteps, position), -1);
}

FailureOr<BlockWalk> BlockWalk::create(const CotangentLoop &loop, WalkOptions options,
                                       bool readAhead) {
  std::unique_ptr<Region> region = cloneLink(loop, options);
  FailureOr<UnitEmitter> emitter = UnitEmitter::create(region->front(), loop.captures);
  if (failed(emitter))
    return failure();
  return BlockWalk(loop, std::move(region), std::move(*emitter), options, readAhead);
}

/// What a step reads from memory: all but the cotangent and captures.
static SmallVector<Value> getSources(const CotangentLoop &loop, WalkOptions options) {
  SmallVector<Value> sources(loop.saved.begin(), loop.saved.end());
  if (options.inject)
    llvm::append_range(sources, loop.injected);
  return sources;
}

BlockWalk::BlockWalk(const CotangentLoop &loop, std::unique_ptr<Region> region, UnitEmitter emitter,
                     WalkOptions options, bool readAhead)
    : loop(loop), region(std::move(region)), emitter(std::move(emitter)), options(options),
      ring(loop.op->getLoc(), getSources(loop, options), readAhead) {}

void BlockWalk::launch(OpBuilder &builder, Value numBlocks,
                       function_ref<void(OpBuilder &, const LaunchedThread &)> body) {
  Location loc = loop.op->getLoc();
  SmallVector<MemRefType> shared = emitter.getSharedTypes(), rings = ring.getSharedTypes();
  size_t numScratch = shared.size();
  llvm::append_range(shared, rings);
  Type element = cast<MemRefType>(loop.seeds[0].getType()).getElementType();
  shared.push_back(MemRefType::get({2, loop.getTotalSize()}, element));
  emitLaunch(builder, loc, numBlocks, emitter.getNumThreads(), shared,
             [&](OpBuilder &nested, const LaunchedThread &thread) {
               emitter.begin(nested, loc, thread, thread.shared.take_front(numScratch));
               walker = thread;
               ringArrays = thread.shared.slice(numScratch, rings.size());
               state = thread.shared.back();
               body(nested, thread);
             });
}

void BlockWalk::start(OpBuilder &builder, const LaunchedThread &thread,
                      function_ref<Value(OpBuilder &, Value)> value) {
  Location loc = loop.op->getLoc();
  current = getIndex(builder, loc, 0);
  emitRows(builder, loc, thread, loop.getTotalSize(), [&](OpBuilder &nested, Value row) {
    Place{state, {current}}.store(nested, loc, value(nested, row), row);
  });
  emitBarrier(builder, loc);
}

void BlockWalk::walk(OpBuilder &builder, Value sample, Value first, Value last) {
  Location loc = loop.op->getLoc();
  Value one = getIndex(builder, loc, 1);
  ring.begin(builder, walker, ringArrays, sample, first, last,
             [this](OpBuilder &nested, Value position) { return getStep(nested, loop, position); });
  current = emitFold(builder, loc, first, last, current,
                     [&](OpBuilder &nested, Value position, ValueRange copy) {
                       Value after = arith::XOrIOp::create(nested, loc, copy[0], one);
                       ring.request(nested, position);
                       emitStep(nested, sample, position, copy[0], after);
                       ring.wait(nested);
                       emitBarrier(nested, loc);
                       return SmallVector<Value>{after};
                     })
                .front();
}

void BlockWalk::finish(OpBuilder &builder, const LaunchedThread &thread,
                       function_ref<void(OpBuilder &, Value, Value)> body) {
  Location loc = loop.op->getLoc();
  emitRows(builder, loc, thread, loop.getTotalSize(), [&](OpBuilder &nested, Value row) {
    body(nested, row, Place{state, {current}}.load(nested, loc, row));
  });
}

void BlockWalk::walkFrom(OpBuilder &builder, const LaunchedThread &thread, Value sample,
                         const Place &from, Value first, Value last, Value isLast) {
  Location loc = loop.op->getLoc();
  start(builder, thread, [&](OpBuilder &inside, Value row) { return from.load(inside, loc, row); });
  walk(builder, sample, first, last);
  emitIf(builder, loc, isLast, [&](OpBuilder &nested) {
    finish(nested, thread, [&](OpBuilder &inside, Value row, Value value) {
      storeCotangent(inside, loop, sample, row, value);
    });
  });
}

void BlockWalk::emitStep(OpBuilder &builder, Value sample, Value position, Value before,
                         Value after) {
  Location loc = loop.op->getLoc();
  SmallVector<Place> read = ring.getPlaces(builder, position), arguments;
  SmallVector<SmallVector<Place, 2>> results;
  arguments.append(read.begin(), read.begin() + loop.saved.size());
  int64_t first = 0;
  for (size_t i = 0; i < loop.seeds.size(); ++i) {
    arguments.push_back({state, {before}, first});
    results.push_back({Place{state, {after}, first}});
    first += loop.getStateSize(i);
  }
  arguments.append(read.begin() + loop.saved.size(), read.end());
  if (options.emit) {
    Value step = getStep(builder, loop, position);
    for (Value emitted : loop.destinations.drop_front(loop.seeds.size()))
      results.push_back({Place{emitted, {step, sample}}});
  }
  emitter.emitStep(builder, loc, arguments, results);
}

//===----------------------------------------------------------------------===//
// States that lie one after the other
//===----------------------------------------------------------------------===//

Value bppsa::loadSeed(OpBuilder &builder, const CotangentLoop &loop, Value sample, Value row) {
  Location loc = loop.op->getLoc();
  Value result;
  int64_t first = 0;
  for (size_t i = 0; i < loop.seeds.size(); ++i) {
    int64_t size = loop.getStateSize(i);
    Value inState = arith::SubIOp::create(builder, loc, row, getIndex(builder, loc, first));
    Value isInside = isBelow(builder, loc, inState, getIndex(builder, loc, size));
    Value at = arith::SelectOp::create(builder, loc, isInside, inState, getIndex(builder, loc, 0));
    Value loaded = Place{loop.seeds[i], {sample}}.load(builder, loc, at);
    result = result ? arith::SelectOp::create(builder, loc, isInside, loaded, result).getResult()
                    : loaded;
    first += size;
  }
  return result;
}

void bppsa::storeCotangent(OpBuilder &builder, const CotangentLoop &loop, Value sample, Value row,
                           Value value) {
  Location loc = loop.op->getLoc();
  int64_t first = 0;
  for (size_t i = 0; i < loop.seeds.size(); ++i) {
    int64_t size = loop.getStateSize(i);
    // Rows before this state wrap around to large numbers.
    Value inState = arith::SubIOp::create(builder, loc, row, getIndex(builder, loc, first));
    emitIf(builder, loc, isBelow(builder, loc, inState, getIndex(builder, loc, size)),
           [&](OpBuilder &nested) {
             Place{loop.destinations[i], {sample}}.store(nested, loc, value, inState);
           });
    first += size;
  }
}

LogicalResult bppsa::launchSequentially(const CotangentLoop &loop) {
  FailureOr<BlockWalk> walk = BlockWalk::create(loop, {});
  if (failed(walk))
    return failure();
  OpBuilder builder(loop.op);
  Value numSteps = countSteps(builder, loop);
  walk->launch(builder, countSamples(builder, loop),
               [&](OpBuilder &nested, const LaunchedThread &thread) {
                 walk->start(nested, thread, [&](OpBuilder &inside, Value row) {
                   return loadSeed(inside, loop, thread.block, row);
                 });
                 Value zero = getIndex(nested, loop.op->getLoc(), 0);
                 walk->walk(nested, thread.block, zero, numSteps);
                 walk->finish(nested, thread, [&](OpBuilder &inside, Value row, Value value) {
                   storeCotangent(inside, loop, thread.block, row, value);
                 });
               });
  return success();
}

LogicalResult bppsa::launchChain(ChainOp op) { return launchSequentially(getCotangentLoop(op)); }
