//===- CooperativeStep.cpp - a step of a cooperative loop -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../../Codegen/GPU/Launch.h"
#include "CooperativeLoop.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace bppsa;

static constexpr int64_t kShape[] = {cost::kCooperativeWarps, kWarpThreads};

SmallVector<Value> CooperativeLoop::forEachLane(OpBuilder &builder, ValueRange ofLanes,
                                                TypeRange elements, LaneBody laneBody) const {
  auto each = bgpu::ForEachOp::create(builder, loc, kShape, ofLanes, elements, laneBody);
  return llvm::to_vector_of<Value>(each.getResults());
}

/// Lanes past the end repeat the last row.
SmallVector<Value> CooperativeLoop::forEachPosition(OpBuilder &builder, Location, int64_t rows,
                                                    ValueRange ofPositions, TypeRange elements,
                                                    RowBody rowBody) const {
  return forEachLane(
      builder, ofPositions, elements, [&](OpBuilder &inThread, ValueRange at, ValueRange own) {
        Value row =
            minIndex(inThread, loc, getRow(inThread, at), getIndex(inThread, loc, rows - 1));
        return rowBody(inThread, at, row, own);
      });
}

RankedTensorType CooperativeLoop::getTileType(Value value) const {
  return bgpu::getTileType(kShape, getElementTypeOrSelf(value), /*replicas=*/1);
}

Value CooperativeLoop::getFirstRow(OpBuilder &builder, ValueRange at) const {
  return addIndex(builder, loc, rowOfBlock,
                  mulIndex(builder, loc, at[0], getIndex(builder, loc, rowsOfWarp)));
}

Value CooperativeLoop::getRow(OpBuilder &builder, ValueRange at) const {
  Value ofWarp =
      builder.createOrFold<arith::RemUIOp>(loc, at[1], getIndex(builder, loc, rowsOfWarp));
  return addIndex(builder, loc, getFirstRow(builder, at), ofWarp);
}

Value CooperativeLoop::getNumber(OpBuilder &builder, ValueRange at) const {
  return builder.createOrFold<arith::DivUIOp>(loc, at[1], getIndex(builder, loc, rowsOfWarp));
}

Value CooperativeLoop::getSlot(OpBuilder &builder, ValueRange at) const {
  return addIndex(builder, loc, firstSlot, getNumber(builder, at));
}

Value CooperativeLoop::getSample(OpBuilder &builder, ValueRange at) const {
  return minIndex(builder, loc, getSlot(builder, at), addIndex(builder, loc, loop->numSamples, -1));
}

Value CooperativeLoop::hasSample(OpBuilder &builder, ValueRange at) const {
  Value isOfGroup = isBelow(builder, loc, getNumber(builder, at), numSamples);
  Value exists = isBelow(builder, loc, getSlot(builder, at), loop->numSamples);
  return arith::AndIOp::create(builder, loc, isOfGroup, exists);
}

static Place ofSample(Place place, Value sample) {
  place.prefix.push_back(sample);
  return place;
}

Value CooperativeLoop::loadRows(OpBuilder &builder, const Place &place, int64_t rows) {
  auto loadRow = [&](OpBuilder &inThread, ValueRange at, Value row, ValueRange) {
    return SmallVector<Value>{ofSample(place, getSample(inThread, at)).load(inThread, loc, row)};
  };
  return forEachPosition(builder, loc, rows, {}, builder.getF32Type(), loadRow).front();
}

void CooperativeLoop::storeRows(OpBuilder &builder, ArrayRef<Target> targets, int64_t rows) {
  if (targets.empty())
    return;
  llvm::SmallSetVector<Value, 4> ofTargets;
  for (const Target &target : targets)
    ofTargets.insert(target.tile);
  forEachLane(builder, ofTargets.getArrayRef(), {},
              [&](OpBuilder &inThread, ValueRange at, ValueRange elements) {
                Value row = getRow(inThread, at);
                Value exists = isBelow(inThread, loc, row, getIndex(inThread, loc, rows));
                exists = arith::AndIOp::create(inThread, loc, exists, hasSample(inThread, at));
                emitIf(inThread, loc, exists, [&](OpBuilder &nested) {
                  for (const Target &target : targets) {
                    Value sample = target.isExchange ? getSlot(nested, at) : getSample(nested, at);
                    Value element =
                        elements[llvm::find(ofTargets, target.tile) - ofTargets.begin()];
                    ofSample(target.place, sample).store(nested, loc, element, row);
                  }
                });
                return SmallVector<Value>();
              });
}

SmallVector<Value> CooperativeLoop::emitStep(OpBuilder &builder, Value atPosition,
                                             ValueRange carried) {
  position = atPosition;
  Value one = getIndex(builder, loc, 1);
  current = arith::AndIOp::create(builder, loc, position, one);
  next = arith::XOrIOp::create(builder, loc, current, one);
  passed = carried.back();
  tiles.clear();
  for (unsigned i = 0; i < numStates; ++i)
    tiles[body->getArgument(firstState + i)] = carried[i];
  for (auto [source, value] : llvm::zip_equal(sources, carried.slice(numStates, sources.size())))
    tiles[source] = value;
  bool isWaitedFor = false;
  int64_t stage = plan.getUnits().front().stage;
  for (const RowUnit &unit : plan.getUnits()) {
    if (unit.stage != stage && isWaitedFor) {
      emitGroupBarrier(builder);
      isWaitedFor = false;
    }
    stage = unit.stage;
    emitUnit(builder, unit);
    isWaitedFor |=
        llvm::any_of(unit.stored, [&](Value value) { return exchanged.contains(value); });
  }
  SmallVector<Value> after;
  bool handsOn = false;
  for (unsigned i = 0; i < numStates; ++i) {
    after.push_back(getTile(builder, body->getTerminator()->getOperand(i)));
    handsOn |= exchanged.contains(body->getArgument(firstState + i));
  }
  // The loads overlap with the barrier.
  Value last = addIndex(builder, loc, loop->numSteps, -1);
  Value following = minIndex(builder, loc, addIndex(builder, loc, position, 1), last);
  llvm::append_range(after, loadSources(builder, following));
  if (handsOn)
    emitGroupBarrier(builder);
  after.push_back(passed);
  return after;
}

void CooperativeLoop::emitUnit(OpBuilder &builder, const RowUnit &unit) {
  emitSums(builder, unit);
  for (const ProductSum &sum : unit.sums)
    if (sum.addend) {
      Value &total = tiles[sum.result];
      total = arith::AddFOp::create(builder, loc, total, getTile(builder, sum.addend));
    }
  for (Value value : unit.stored)
    getTile(builder, value);
  storeUnit(builder, unit);
}

void CooperativeLoop::storeUnit(OpBuilder &builder, const RowUnit &unit) {
  Value step = loop->getStep(builder, position);
  Value ofStates = loop->reverse ? step : addIndex(builder, loc, position, 1);
  SmallVector<Target> targets;
  for (Value value : unit.stored) {
    Value tile = tiles.lookup(value);
    auto exchange = [&](Value key, Value copy) {
      if (std::optional<Place> place = findExchange(key, copy))
        targets.push_back({tile, *place, /*isExchange=*/true});
    };
    if (!isState(value))
      exchange(value, current);
    for (auto [i, yielded] : llvm::enumerate(body->getTerminator()->getOperands())) {
      if (yielded != value)
        continue;
      if (i < numStates)
        exchange(body->getArgument(firstState + i), next);
      if (Value output = loop->outputs[i])
        targets.push_back({tile,
                           {arrays.lookup(output), {i < numStates ? ofStates : step}},
                           /*isExchange=*/false});
    }
  }
  storeRows(builder, targets, unit.rows);
}

Value CooperativeLoop::loadArgument(OpBuilder &, BlockArgument) {
  llvm_unreachable("the loop carries states and sources");
}

RowTiles::ReadRow CooperativeLoop::shareRows(OpBuilder &builder, Value value) {
  if (std::optional<Place> place = findExchange(value, current))
    return [this, place = *place](OpBuilder &inThread, ValueRange at, Value row) {
      return ofSample(place, getSlot(inThread, at)).load(inThread, loc, row);
    };
  Value array = arrays.lookup(loop->sources[cast<BlockArgument>(value).getArgNumber()]);
  Place place = {array, {loop->getStep(builder, position)}};
  return [this, place](OpBuilder &inThread, ValueRange at, Value row) {
    return ofSample(place, getSample(inThread, at)).load(inThread, loc, row);
  };
}
