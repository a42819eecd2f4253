//===- CarryLoop.cpp - a cotangent is carried across runs -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CarryLoop.h"

using namespace mlir;
using namespace bppsa;

/// Bytes of shared memory for transitions that are read ahead: there are few blocks, one for each
/// row.
static constexpr int64_t kMostBytesOfTransitions = 40 * 1024;

/// Whether `view` is row `row`, any where that is null, of slot `slot` of an array; null otherwise.
static memref::SubViewOp getSlot(Value view, function_ref<bool(Value)> isSlot) {
  auto subview = view.getDefiningOp<memref::SubViewOp>();
  if (!subview || subview.getSourceType().getRank() != subview.getType().getRank() + 1)
    return {};
  SmallVector<OpFoldResult> offsets = subview.getMixedOffsets(), sizes = subview.getMixedSizes();
  auto slot = dyn_cast<Value>(offsets[0]);
  bool isWhole = slot && isSlot(slot) && isConstantIntValue(sizes[1], 1) &&
                 llvm::all_of(ArrayRef(offsets).drop_front(2),
                              [](OpFoldResult offset) { return isConstantIntValue(offset, 0); });
  return isWhole ? subview : memref::SubViewOp();
}

/// Whether `value` is `index + 1`.
static bool isNext(Value value, Value index) {
  auto sum = value.getDefiningOp<arith::AddIOp>();
  return sum && sum.getLhs() == index && isConstantIntValue(sum.getRhs(), 1);
}

std::optional<CarryLoop> CarryLoop::match(scf::ForallOp parallel, scf::ForOp op) {
  auto applies = op.getBody()->getOps<ApplyTransitionOp>();
  bool hasOthers = llvm::any_of(op.getBody()->without_terminator(), [](Operation &other) {
    return !isa<ApplyTransitionOp>(other) && !isMemoryEffectFree(&other);
  });
  if (hasOthers || !llvm::hasSingleElement(applies) || op.getNumResults() != 0 ||
      !isConstantIntValue(op.getLowerBound(), 0) || !isConstantIntValue(op.getStep(), 1))
    return {};
  ApplyTransitionOp apply = *applies.begin();
  Value index = op.getInductionVar();
  auto isOwn = [&](Value slot) { return slot == index; };
  memref::SubViewOp transition = getSlot(apply.getTransition(), isOwn);
  memref::SubViewOp from = getSlot(apply.getCotangent(), isOwn);
  memref::SubViewOp to =
      getSlot(apply.getDestination(), [&](Value slot) { return isNext(slot, index); });
  auto isInside = [&](Value array) {
    return parallel.getBodyRegion().isAncestor(array.getParentRegion());
  };
  bool isCarry = transition && from && to && from.getSource() == to.getSource() &&
                 isConstantIntValue(from.getMixedOffsets()[1], 0) &&
                 isConstantIntValue(to.getMixedOffsets()[1], 0) &&
                 isa<Value>(transition.getMixedOffsets()[1]) &&
                 transition.getSourceType().getLayout().isIdentity() &&
                 !isInside(transition.getSource());
  return isCarry ? std::optional(CarryLoop(op, apply)) : std::nullopt;
}

CarryLoop::CarryLoop(scf::ForOp op, ApplyTransitionOp apply)
    : op(op), apply(apply), loc(apply.getLoc()), layout(AffineMapLayout::get(apply)),
      transitions(apply.getTransition().getDefiningOp<memref::SubViewOp>().getSource()) {}

void CarryLoop::prepare(OpBuilder &builder) {
  SmallVector<ReassociationIndices> groups = {{0}, {1}, {2, 3}};
  vectors = memref::CollapseShapeOp::create(builder, loc, transitions, groups);
  ring.emplace(loc, vectors, countStages(vectors, kMostBytesOfTransitions));
}

SmallVector<MemRefType> CarryLoop::getSharedTypes() const {
  SmallVector<MemRefType> shared = ring->getSharedTypes();
  Type element = cast<MemRefType>(transitions.getType()).getElementType();
  shared.push_back(MemRefType::get({2, padRows(layout.size)}, element));
  return shared;
}

void CarryLoop::emit(OpBuilder &builder, const LaunchedThread &thread, ValueRange shared,
                     const IRMapping &values) {
  auto getView = [](Value view) { return view.getDefiningOp<memref::SubViewOp>(); };
  row = values.lookupOrDefault(cast<Value>(getView(apply.getTransition()).getMixedOffsets()[1]));
  cotangents = values.lookupOrDefault(getView(apply.getCotangent()).getSource());
  state = shared.back();
  zero = getIndex(builder, loc, 0);
  emitRows(builder, loc, thread, layout.size, [&](OpBuilder &inside, Value own) {
    Place{state, {zero}}.store(inside, loc, getCotangent(zero).load(inside, loc, own), own);
  });
  emitBarrier(builder, loc);
  Value upper = values.lookupOrDefault(op.getUpperBound());
  emitIf(builder, loc, isBelow(builder, loc, zero, upper), [&](OpBuilder &some) {
    ring->begin(some, thread, shared.drop_back(), row, zero, upper,
                [](OpBuilder &, Value index) { return index; });
    emitSteps(some, thread, upper);
  });
}

void CarryLoop::emitSteps(OpBuilder &builder, const LaunchedThread &thread, Value upper) {
  Value one = getIndex(builder, loc, 1);
  bool isInRing = ring->isUsed() && layout.size <= thread.numThreads;
  emitLoop(builder, loc, zero, upper, [&](OpBuilder &step, Value index) {
    Value before = arith::AndIOp::create(step, loc, index, one);
    Place from = {state, {before}};
    Place to = {state, {arith::XOrIOp::create(step, loc, before, one)}};
    if (isInRing)
      emitStepInRing(step, thread, index, from, to);
    else
      emitStep(step, thread, index, from, to);
    ring->wait(step);
    emitBarrier(step, loc);
  });
}

void CarryLoop::emitStep(OpBuilder &builder, const LaunchedThread &thread, Value index,
                         const Place &from, const Place &to) {
  DeviceMap map = {layout, transitions, {index, row}};
  Place next = getCotangent(addIndex(builder, loc, index, 1));
  emitRows(builder, loc, thread, layout.size, [&](OpBuilder &inside, Value own) {
    Value value = emitApply(inside, loc, map, from, own);
    to.store(inside, loc, value, own);
    next.store(inside, loc, value, own);
  });
  ring->request(builder, index);
}

/// Without branches but for what goes to memory: threads without a row have spare ones. The
/// transition that is asked for, farthest ahead, is behind the loads that are waited for.
void CarryLoop::emitStepInRing(OpBuilder &builder, const LaunchedThread &thread, Value index,
                               const Place &from, const Place &to) {
  Value size = getIndex(builder, loc, layout.size);
  Value own = minIndex(builder, loc, thread.thread, getIndex(builder, loc, layout.size - 1));
  Place next = getCotangent(addIndex(builder, loc, index, 1));
  Place map = ring->getPlaces(builder, index)[0];
  MapRow loaded = MapRow::load(builder, loc, layout, map, from, own);
  ring->request(builder, index);
  Value value = loaded.apply(builder, loc);
  to.store(builder, loc, value, thread.thread);
  emitIf(builder, loc, isBelow(builder, loc, thread.thread, size),
         [&](OpBuilder &owned) { next.store(owned, loc, value, own); });
}
