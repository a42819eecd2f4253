//===- Recurrence.cpp - a block runs the steps of a sample ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Carries the states of a sample as tiles and shares the states that products read.
//
//===----------------------------------------------------------------------===//

#include "Recurrence.h"
#include "../../../Codegen/GPU/Launch.h"
#include "StepOutputs.h"
#include "StepSources.h"
#include "StepTiles.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

namespace {
class RecurrenceKernel {
public:
  RecurrenceKernel(RecurrenceOp op, StepTiles steps)
      : op(op), steps(std::move(steps)), loc(op.getLoc()),
        sources(loc, op.getSequences(), getMapping(op).getStages()) {}
  void emit();

private:
  SmallVector<Value> getArrays(ValueRange operands) const;
  void emitSteps(OpBuilder &builder, Value sample);
  SmallVector<Value> emitStart(OpBuilder &builder, Value sample);
  void emitGroup(OpBuilder &builder, Value block);
  SmallVector<Value> emitStep(OpBuilder &builder, ArrayRef<Place> outputs);
  Value getStep(OpBuilder &builder, Value position) const;

  RecurrenceOp op;
  StepTiles steps;
  Location loc;
  StepSources sources;
  Value numSteps, numSamples;
  KernelArrays arrays;
};
} // namespace

void RecurrenceKernel::emit() {
  OpBuilder builder(op);
  numSteps = getDim(builder, loc, op.getSequences()[0], 0);
  numSamples = getDim(builder, loc, op.getSequences()[0], 1);
  bool hasStates = !op.getInitial().empty();
  Value numBlocks = numSamples;
  if (!hasStates) {
    Value size = getIndex(builder, loc, cost::kStepsPerBlock);
    Value groups = arith::CeilDivUIOp::create(builder, loc, numSteps, size);
    numBlocks = mulIndex(builder, loc, numSamples, groups);
  }
  auto emitBlock = [&](OpBuilder &nested, Value block) {
    arrays = separateArrays(nested, loc, op->getOperands());
    steps.begin(nested, loc, getArrays(op.getCaptures()));
    if (hasStates)
      emitSteps(nested, block);
    else
      emitGroup(nested, block);
  };
  auto kernel = bgpu::KernelOp::create(builder, loc, numBlocks, steps.getNumThreads(), emitBlock);
  kernel.setRepeatLast(true);
}

SmallVector<Value> RecurrenceKernel::getArrays(ValueRange operands) const {
  return llvm::map_to_vector(operands, [&](Value array) { return arrays.lookup(array); });
}

Value RecurrenceKernel::getStep(OpBuilder &builder, Value position) const {
  return getRecurrenceStep(builder, op, numSteps, position);
}

void RecurrenceKernel::emitSteps(OpBuilder &builder, Value sample) {
  Value zero = getIndex(builder, loc, 0), one = getIndex(builder, loc, 1);
  size_t numStates = op.getInitial().size();
  SmallVector<Value> carried = emitStart(builder, sample);
  sources.begin(builder, arrays, numSamples);
  StepOutputs outputs(loc, getArrays(op.getDestinations()), op.getReverse() ? 0 : numStates);
  llvm::append_range(
      carried, outputs.begin(builder, sample, getStep(builder, zero), numSteps, op.getReverse()));
  auto emitOne = [&](OpBuilder &nested, Location, Value position, ValueRange values) {
    ValueRange states = values.take_front(numStates), places = values.drop_front(numStates);
    Value step = getStep(nested, position);
    for (auto [number, place] : llvm::enumerate(sources.getPlaces(nested, step, sample)))
      steps.setVector(number, place);
    for (auto [number, state] : llvm::enumerate(states))
      steps.setTile(op.getSequences().size() + number, state);
    SmallVector<Value> next = emitStep(nested, outputs.getPlaces(nested, step, places));
    llvm::append_range(next, outputs.advance(nested, position, places));
    scf::YieldOp::create(nested, loc, next);
  };
  scf::ForOp::create(builder, loc, zero, numSteps, one, carried, emitOne);
}

SmallVector<Value> RecurrenceKernel::emitStart(OpBuilder &builder, Value sample) {
  Value start = op.getReverse() ? numSteps : getIndex(builder, loc, 0);
  SmallVector<Value> states;
  for (auto [initial, trajectory] :
       llvm::zip(getArrays(op.getInitial()), getArrays(op.getDestinations()))) {
    int64_t rows = cast<MemRefType>(initial.getType()).getDimSize(1);
    states.push_back(steps.load(builder, loc, {initial, {sample}}, rows));
    steps.store(builder, loc, states.back(), {trajectory, {start, sample}});
  }
  return states;
}

void RecurrenceKernel::emitGroup(OpBuilder &builder, Value block) {
  SmallVector<Value> digits = splitIndex(builder, loc, block, {Value(), numSamples});
  Value size = getIndex(builder, loc, cost::kStepsPerBlock);
  Value first = mulIndex(builder, loc, digits[0], size);
  Value last =
      minIndex(builder, loc, addIndex(builder, loc, first, cost::kStepsPerBlock), numSteps);
  emitLoop(builder, loc, first, last, [&](OpBuilder &nested, Value step) {
    for (auto [number, sequence] : llvm::enumerate(op.getSequences()))
      steps.setVector(number, {arrays.lookup(sequence), {step, digits[1]}});
    SmallVector<Place> outputs;
    for (Value output : op.getDestinations())
      outputs.push_back({arrays.lookup(output), {step, digits[1]}});
    emitStep(nested, outputs);
  });
}

SmallVector<Value> RecurrenceKernel::emitStep(OpBuilder &builder, ArrayRef<Place> outputs) {
  ValueRange yielded = op.getBody().front().getTerminator()->getOperands();
  SmallVector<Value> tiles(yielded.size());
  steps.emitStep(builder, loc, [&](Value value, Value tile) {
    for (auto [own, output, result] : llvm::zip_equal(yielded, outputs, tiles))
      if (own == value) {
        result = tile;
        steps.store(builder, loc, tile, output);
      }
  });
  tiles.resize(op.getInitial().size());
  return tiles;
}

Value bppsa::getRecurrenceStep(OpBuilder &builder, RecurrenceOp op, Value numSteps,
                               Value position) {
  if (!op.getReverse())
    return position;
  Location loc = op.getLoc();
  return addIndex(builder, loc, arith::SubIOp::create(builder, loc, numSteps, position), -1);
}

LogicalResult bppsa::convertRecurrence(RecurrenceOp op) {
  FailureOr<StepTiles> steps =
      StepTiles::create(op.getBody().front(), op.getCaptures(), getMapping(op));
  if (failed(steps))
    return failure();
  RecurrenceKernel(op, std::move(*steps)).emit();
  return success();
}
