//===- LinkLoop.cpp - a block runs the links of a sample ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LinkLoop.h"
#include "../../../Codegen/GPU/LinkSteps.h"
#include "../Totals.h"
#include "bppsa/Dialect/BGPU/Analysis/DeviceMapping.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

FailureOr<LinkLoop> LinkLoop::create(const CotangentLoop &loop, LinkOptions options,
                                     GPUMappingAttr mapping) {
  std::unique_ptr<Region> region = cloneLink(loop, options);
  FailureOr<StepTiles> steps = StepTiles::create(region->front(), loop.captures, mapping);
  if (failed(steps))
    return failure();
  return LinkLoop(loop, std::move(region), std::move(*steps), options, mapping.getStages());
}

LinkLoop::LinkLoop(const CotangentLoop &loop, std::unique_ptr<Region> ownRegion, StepTiles ownSteps,
                   LinkOptions options, int64_t stages)
    : loop(loop), loc(loop.op->getLoc()), region(std::move(ownRegion)), steps(std::move(ownSteps)),
      options(options), sources(loc, getSources(loop, options), stages),
      sums(loop, region->front(), steps.getNumParts()) {
  if (hasSums())
    steps.reserveRegisters(sums.countRegisters());
}

void LinkLoop::emitKernel(OpBuilder &builder, Value numBlocks,
                          function_ref<void(OpBuilder &, Value)> body) {
  numSamples = getDim(builder, loc, loop.saved[0], 1);
  Value parts;
  if (hasSums() && !loop.flatSums)
    parts = allocateParts(builder, loc, numBlocks, sums.countElements(), loop.getElementType());
  auto emitBlock = [&](OpBuilder &nested, Value block) {
    memory = parts ? viewSlot(nested, loc, parts, block) : Value();
    body(nested, block);
  };
  auto kernel = bgpu::KernelOp::create(builder, loc, numBlocks, steps.getNumThreads(), emitBlock);
  kernel.setRepeatLast(true);
  if (!parts)
    return;
  emitTotals(builder, loc, parts, numBlocks, loop.getSums());
  memref::DeallocOp::create(builder, loc, parts);
}

void LinkLoop::begin(OpBuilder &builder, Value flatSums) {
  if (hasSums() && loop.flatSums)
    memory = flatSums;
  separateAll(builder);
  steps.begin(builder, loc, getArrays(loop.captures));
  if (hasSums())
    zeroSums = sums.begin(builder, steps, arrays.lookup(memory));
}

/// A step never writes an array that it reads.
void LinkLoop::separateAll(OpBuilder &builder) {
  SmallVector<Value> ofStep = getSources(loop, options);
  llvm::append_range(ofStep, loop.captures);
  if (options.emit)
    llvm::append_range(ofStep, loop.getEmitted());
  if (hasSums())
    ofStep.push_back(memory);
  arrays = separateArrays(builder, loc, ofStep);
}

SmallVector<Value> LinkLoop::getArrays(ValueRange operands) const {
  return llvm::map_to_vector(operands, [&](Value array) { return arrays.lookup(array); });
}

SmallVector<Value> LinkLoop::makeCotangents(OpBuilder &builder, RowOfState value) const {
  SmallVector<Value> cotangents;
  for (auto [state, rows] : llvm::enumerate(loop.stateSizes))
    cotangents.push_back(steps.forEachRow(builder, loc, rows, loop.getElementType(),
                                          [&, state = state](OpBuilder &inThread, Value row) {
                                            return value(inThread, state, row);
                                          }));
  return cotangents;
}

/// With read-ahead, surplus threads do not repeat the last row, whose address would take a
/// register. In runs of one step they do; otherwise LLVM moves all multiplications into the branch,
/// after all loads.
void LinkLoop::forEachRow(OpBuilder &builder, Value cotangent, StoreRow store) const {
  auto each = bgpu::ForEachOp::create(
      builder, loc, cast<RankedTensorType>(cotangent.getType()).getShape(), cotangent,
      [&](OpBuilder &inThread, ValueRange at, ValueRange element) {
        store(inThread, at[0], element[0]);
      },
      steps.getNumParts());
  each.setRepeatLast(!sources.areFetched());
}

SmallVector<Value> LinkLoop::run(OpBuilder &builder, const Run &run, ValueRange cotangents) {
  SmallVector<Value> start(cotangents);
  if (hasSums())
    llvm::append_range(start, zeroSums);
  sources.begin(builder, arrays, numSamples);
  auto emitOne = [&](OpBuilder &nested, Location, Value position, ValueRange carried) {
    Value step = getStep(nested, loop, position);
    setArguments(sources.getPlaces(nested, step, run.sample), carried);
    SmallVector<Place> outputs;
    if (options.emit)
      for (Value emitted : loop.getEmitted())
        outputs.push_back({arrays.lookup(emitted), {step, run.sample}});
    scf::YieldOp::create(nested, loc, emitStep(nested, position, carried, outputs));
  };
  auto ofSteps = scf::ForOp::create(builder, loc, run.first, run.last, getIndex(builder, loc, 1),
                                    start, emitOne);
  ValueRange last = ofSteps.getResults();
  if (hasSums())
    sums.store(builder, last.slice(loop.getNumStates(), zeroSums.size()));
  return llvm::to_vector_of<Value>(last.take_front(loop.getNumStates()));
}

void LinkLoop::setArguments(ArrayRef<Place> read, ValueRange cotangents) {
  unsigned argument = 0;
  for (const Place &saved : read.take_front(loop.saved.size()))
    steps.setVector(argument++, saved);
  for (Value cotangent : cotangents.take_front(loop.getNumStates()))
    steps.setTile(argument++, cotangent);
  if (options.inject)
    for (const Place &injected : read.slice(loop.saved.size(), loop.injected.size()))
      steps.setVector(argument++, injected);
  if (!hasSums())
    return;
  SmallVector<Value> all = getSources(loop, options);
  SmallVector<Place> factors;
  for (Value factor : loop.factors)
    factors.push_back(read[llvm::find(all, factor) - all.begin()]);
  sums.beginStep(factors);
}

/// Terms without a factor are added early to free the registers of their operands.
SmallVector<Value> LinkLoop::emitStep(OpBuilder &builder, Value position, ValueRange running,
                                      ArrayRef<Place> outputs) {
  ValueRange yielded = region->front().getTerminator()->getOperands();
  size_t numStates = loop.getNumStates(), firstSum = numStates + outputs.size();
  SmallVector<Value> tiles(yielded.size());
  auto addUp = [&](size_t number) {
    Value &tile = tiles[number];
    tile = sums.add(builder, steps, number - firstSum, running[number - outputs.size()], tile);
  };
  auto take = [&](Value value, Value tile) {
    for (auto [number, own] : llvm::enumerate(yielded)) {
      if (own != value)
        continue;
      tiles[number] = tile;
      if (number >= firstSum && !sums.hasFactor(number - firstSum))
        addUp(number);
      else if (number >= numStates && number < firstSum)
        steps.store(builder, loc, tile, outputs[number - numStates]);
    }
  };
  auto readFactors = [&](OpBuilder &nested, int64_t left) {
    if (hasSums())
      sums.readFactors(nested, steps, left);
  };
  steps.emitStep(builder, loc, take, readFactors);
  for (size_t number = firstSum; number < tiles.size(); ++number)
    if (sums.hasFactor(number - firstSum))
      addUp(number);
  SmallVector<Value> next(ArrayRef(tiles).take_front(numStates));
  if (hasSums())
    llvm::append_range(next,
                       sums.empty(builder, steps, position, ArrayRef(tiles).drop_front(firstSum)));
  return next;
}
