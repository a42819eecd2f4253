//===- BlockLoop.cpp - a block of threads runs a chain -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BlockLoop.h"
#include "../../BPPSAToBGPU/Totals.h"
#include "../BPPSAToGPU.h"
#include "bppsa/Dialect/BPPSA/Analysis/DeviceMapping.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

/// Steps after which sums in registers are added to those in memory: the error of a sum
/// grows with its terms. A power of two.
static constexpr int64_t kStepsOfSums = 512;

Value bppsa::countSteps(OpBuilder &builder, const CotangentLoop &loop) {
  return getDim(builder, loop.op->getLoc(), loop.saved[0], 0);
}

Value bppsa::countSamples(OpBuilder &builder, const CotangentLoop &loop) {
  Location loc = loop.op->getLoc();
  // A transition has no seeds.
  return loop.seeds.empty() ? getDim(builder, loc, loop.saved[0], 1)
                            : getDim(builder, loc, loop.seeds[0], 0);
}

Value bppsa::getStep(OpBuilder &builder, const CotangentLoop &loop, Value position) {
  if (loop.reverse)
    return position;
  Location loc = loop.op->getLoc();
  Value numSteps = countSteps(builder, loop);
  return addIndex(builder, loc, arith::SubIOp::create(builder, loc, numSteps, position), -1);
}

FailureOr<BlockLoop> BlockLoop::create(const CotangentLoop &loop, LinkOptions options,
                                       GPUMappingAttr mapping) {
  std::unique_ptr<Region> region = cloneLink(loop, options);
  SmallVector<UnitSum> sums;
  if (options.emit)
    sums = getUnitSums(loop, region->front().getTerminator()->getNumOperands());
  FailureOr<BodyRowEmitter> emitter =
      BodyRowEmitter::create(region->front(), loop.captures, mapping, sums);
  if (failed(emitter))
    return failure();
  return BlockLoop(loop, std::move(region), std::move(*emitter), options, mapping.getStages());
}

SmallVector<UnitSum> bppsa::getUnitSums(const CotangentLoop &loop, unsigned numYielded) {
  SmallVector<UnitSum> sums;
  unsigned yielded = numYielded - loop.sumWith.size();
  for (int64_t with : loop.sumWith) {
    int64_t columns = 1;
    if (with != kNoFactor)
      columns = cast<ShapedType>(loop.factors[with].getType()).getShape().back();
    sums.push_back({yielded++, with, columns});
  }
  return sums;
}

BlockLoop::BlockLoop(const CotangentLoop &loop, std::unique_ptr<Region> region,
                     BodyRowEmitter emitter, LinkOptions options, int64_t stages)
    : loop(loop), region(std::move(region)), emitter(std::move(emitter)), options(options),
      ring(loop.op->getLoc(), getSources(loop, options), stages) {
  firstOfSum.push_back(0);
  if (!hasSums())
    return;
  Operation *yield = this->region->front().getTerminator();
  for (const UnitSum &sum : getUnitSums(loop, yield->getNumOperands())) {
    rowsOfSum.push_back(getNumRows(yield->getOperand(sum.yielded)));
    firstOfSum.push_back(firstOfSum.back() + rowsOfSum.back() * sum.columns);
  }
}

void BlockLoop::launch(OpBuilder &builder, Value numBlocks,
                       function_ref<void(OpBuilder &, const LaunchedThread &)> body) {
  Location loc = loop.op->getLoc();
  SmallVector<MemRefType> shared = emitter.getSharedTypes(), rings = ring.getSharedTypes();
  size_t numScratch = shared.size();
  llvm::append_range(shared, rings);
  int64_t rows = padRows(loop.getTotalSize()) + (hasSums() ? kLoadedTogether : 0);
  shared.push_back(MemRefType::get({2, rows}, loop.getElementType()));
  Value parts;
  if (hasSums() && !loop.flatSums)
    parts = allocateParts(builder, loc, numBlocks, firstOfSum.back(), loop.getElementType());
  emitLaunch(builder, loc, numBlocks, emitter.getNumThreads(), shared,
             [&](OpBuilder &nested, const LaunchedThread &thread) {
               emitter.begin(nested, loc, thread, thread.shared.take_front(numScratch));
               ownThread = thread;
               ringArrays = thread.shared.slice(numScratch, rings.size());
               state = thread.shared.back();
               if (parts)
                 keepSumsIn(nested, Place{parts, {thread.block}});
               body(nested, thread);
             });
  if (!parts)
    return;
  emitTotals(builder, loc, parts, numBlocks, loop.getSums());
  memref::DeallocOp::create(builder, loc, parts);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

SmallVector<Value> BlockLoop::makeZeroSums(OpBuilder &builder) const {
  Value zero = arith::ConstantOp::create(builder, loop.op->getLoc(),
                                         builder.getZeroAttr(loop.getElementType()));
  return SmallVector<Value>(emitter.getNumSumRegisters(), zero);
}

void BlockLoop::keepSumsIn(OpBuilder &builder, Place place) {
  Location loc = loop.op->getLoc();
  ownSums = std::move(place);
  SmallVector<Value> zeros = makeZeroSums(builder);
  storeSums(builder, zeros, /*add=*/false);
  emitIf(builder, loc, isEqual(builder, loc, ownThread.thread, getIndex(builder, loc, 0)),
         [&](OpBuilder &nested) {
           auto [zero, row] = getZero(nested);
           zero.store(nested, loc, zeros.front(), row);
         });
}

/// Between the rows and the spare ones, which are the last of the array.
std::pair<Place, Value> BlockLoop::getZero(OpBuilder &builder) const {
  Location loc = loop.op->getLoc();
  return {{state, {getIndex(builder, loc, 0)}},
          getIndex(builder, loc, llvm::alignTo(loop.getTotalSize(), kLoadedTogether))};
}

/// Writes the elements of `sums` that this thread has to those of its block in memory,
/// or adds them.
void BlockLoop::storeSums(OpBuilder &builder, ValueRange sums, bool add) {
  Location loc = loop.op->getLoc();
  emitter.forEachSum(
      builder, loc, sums, [&](OpBuilder &nested, size_t sum, Value row, Value column, Value value) {
        Value rows = getIndex(nested, loc, rowsOfSum[sum]);
        Value position = mulIndex(nested, loc, column, rows);
        position = addIndex(nested, loc, position, row);
        position = addIndex(nested, loc, position, firstOfSum[sum]);
        if (add)
          value = arith::AddFOp::create(nested, loc, ownSums.load(nested, loc, position), value);
        ownSums.store(nested, loc, value, position);
      });
}

/// After each kStepsOfSums positions, adds `sums` to those in memory and begins new ones, with a
/// zero from memory: a constant would become a select for each of them in every step. In a loop of
/// their own, the steps between would need more registers for places in memory.
SmallVector<Value> BlockLoop::emptySums(OpBuilder &builder, Value position, ValueRange sums) {
  Location loc = loop.op->getLoc();
  Value last = getIndex(builder, loc, kStepsOfSums - 1);
  Value isFull = isEqual(builder, loc, arith::AndIOp::create(builder, loc, position, last), last);
  auto left = scf::IfOp::create(
      builder, loc, isFull,
      [&](OpBuilder &nested, Location) {
        storeSums(nested, sums, /*add=*/true);
        auto [place, row] = getZero(nested);
        Value zero = place.load(nested, loc, row);
        scf::YieldOp::create(nested, loc, SmallVector<Value>(sums.size(), zero));
      },
      [&](OpBuilder &nested, Location) { scf::YieldOp::create(nested, loc, sums); });
  return llvm::to_vector_of<Value>(left.getResults());
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void BlockLoop::start(OpBuilder &builder, const LaunchedThread &thread,
                      function_ref<Value(OpBuilder &, Value)> value) {
  Location loc = loop.op->getLoc();
  current = getIndex(builder, loc, 0);
  emitRows(builder, loc, thread, loop.getTotalSize(), [&](OpBuilder &nested, Value row) {
    Place{state, {current}}.store(nested, loc, value(nested, row), row);
  });
  emitBarrier(builder, loc);
}

void BlockLoop::run(OpBuilder &builder, Value sample, Value first, Value last) {
  Location loc = loop.op->getLoc();
  Value one = getIndex(builder, loc, 1);
  ring.begin(builder, ownThread, ringArrays, sample, first, last,
             [this](OpBuilder &nested, Value position) { return getStep(nested, loop, position); });
  SmallVector<Value> running;
  if (hasSums())
    running = makeZeroSums(builder);
  running.insert(running.begin(), current);
  running = emitFold(builder, loc, first, last, running,
                     [&](OpBuilder &nested, Value position, ValueRange values) {
                       Value after = arith::XOrIOp::create(nested, loc, values[0], one);
                       SmallVector<Value> next = emitStep(nested, sample, position, values[0],
                                                          after, values.drop_front());
                       if (hasSums())
                         next = emptySums(nested, position, next);
                       ring.wait(nested);
                       emitBarrier(nested, loc);
                       next.insert(next.begin(), after);
                       return next;
                     });
  current = running.front();
  if (hasSums())
    storeSums(builder, ArrayRef(running).drop_front(), /*add=*/true);
}

void BlockLoop::finish(OpBuilder &builder, const LaunchedThread &thread,
                       function_ref<void(OpBuilder &, Value, Value)> body) {
  Location loc = loop.op->getLoc();
  emitRows(builder, loc, thread, loop.getTotalSize(), [&](OpBuilder &nested, Value row) {
    body(nested, row, Place{state, {current}}.load(nested, loc, row));
  });
}

SmallVector<Value> BlockLoop::emitStep(OpBuilder &builder, Value sample, Value position,
                                       Value before, Value after, ValueRange sums) {
  Location loc = loop.op->getLoc();
  SmallVector<Place> read = ring.getPlaces(builder, position), arguments;
  SmallVector<SmallVector<Place, 2>> results;
  arguments.append(read.begin(), read.begin() + loop.saved.size());
  int64_t first = 0;
  for (size_t i = 0; i < loop.getNumStates(); ++i) {
    arguments.push_back({state, {before}, first});
    results.push_back({Place{state, {after}, first}});
    first += loop.getStateSize(i);
  }
  if (options.inject)
    for (size_t i = 0; i < loop.injected.size(); ++i)
      arguments.push_back(read[loop.saved.size() + i]);
  SmallVector<Place> factors;
  if (options.emit) {
    Value step = getStep(builder, loop, position);
    for (Value emitted : loop.getEmitted())
      results.push_back({Place{emitted, {step, sample}}});
    results.resize(results.size() + loop.sumWith.size());
    SmallVector<Value> sources = getSources(loop, options);
    for (Value factor : loop.factors)
      factors.push_back(read[llvm::find(sources, factor) - sources.begin()]);
  }
  return emitter.emitStep(builder, loc, arguments, results, factors, sums,
                          [&](OpBuilder &nested) { ring.request(nested, position); });
}

//===----------------------------------------------------------------------===//
// States that lie one after the other
//===----------------------------------------------------------------------===//

Value bppsa::loadOfStates(OpBuilder &builder, const CotangentLoop &loop, ValueRange arrays,
                          Value sample, Value row) {
  Location loc = loop.op->getLoc();
  Value result;
  int64_t first = 0;
  for (size_t i = 0; i < loop.getNumStates(); ++i) {
    int64_t size = loop.getStateSize(i);
    Value inState = arith::SubIOp::create(builder, loc, row, getIndex(builder, loc, first));
    Value isInside = isBelow(builder, loc, inState, getIndex(builder, loc, size));
    Value at = arith::SelectOp::create(builder, loc, isInside, inState, getIndex(builder, loc, 0));
    Value loaded = Place{arrays[i], {sample}}.load(builder, loc, at);
    result = result ? arith::SelectOp::create(builder, loc, isInside, loaded, result).getResult()
                    : loaded;
    first += size;
  }
  return result;
}

void bppsa::storeToStates(OpBuilder &builder, const CotangentLoop &loop, ArrayRef<Value> arrays,
                          Value sample, Value row, Value value) {
  Location loc = loop.op->getLoc();
  int64_t first = 0;
  for (size_t i = 0; i < loop.getNumStates(); first += loop.getStateSize(i++)) {
    if (!arrays[i])
      continue;
    // Rows before this state wrap around to large numbers.
    Value inState = arith::SubIOp::create(builder, loc, row, getIndex(builder, loc, first));
    Value size = getIndex(builder, loc, loop.getStateSize(i));
    emitIf(builder, loc, isBelow(builder, loc, inState, size), [&](OpBuilder &nested) {
      Place{arrays[i], {sample}}.store(nested, loc, value, inState);
    });
  }
}

LogicalResult bppsa::launchSequentially(const CotangentLoop &loop) {
  GPUMappingAttr mapping = getMapping(loop.op);
  if (mapping.is(GPUKernel::Cooperative))
    return launchCooperatively(loop, mapping);
  FailureOr<BlockLoop> steps = BlockLoop::create(loop, {}, mapping);
  if (failed(steps))
    return failure();
  OpBuilder builder(loop.op);
  Value numSteps = countSteps(builder, loop);
  steps->launch(builder, countSamples(builder, loop),
                [&](OpBuilder &nested, const LaunchedThread &thread) {
                  steps->start(nested, thread, [&](OpBuilder &inside, Value row) {
                    return loadOfStates(inside, loop, loop.seeds, thread.block, row);
                  });
                  Value zero = getIndex(nested, loop.op->getLoc(), 0);
                  steps->run(nested, thread.block, zero, numSteps);
                  SmallVector<Value> cotangents(loop.destinations.take_front(loop.getNumStates()));
                  steps->finish(nested, thread, [&](OpBuilder &inside, Value row, Value value) {
                    storeToStates(inside, loop, cotangents, thread.block, row, value);
                  });
                });
  return success();
}
