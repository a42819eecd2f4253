//===- CarryLoop.cpp - loops that carry a cotangent -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CarryLoop.h"
#include "../../Codegen/GPU/Launch.h"
#include "ThreadNumbers.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace bppsa;

/// In bytes. There is only one block per row, so blocks may use this much.
static constexpr int64_t kMaxBytesOfTransitions = 40 * 1024;

/// Returns null unless `view` is one row of a slot that satisfies `isSlot`.
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

static bool isNext(Value value, Value index) {
  auto sum = value.getDefiningOp<arith::AddIOp>();
  return sum && sum.getLhs() == index && isConstantIntValue(sum.getRhs(), 1);
}

std::optional<CarryLoop> CarryLoop::match(bgpu::KernelOp kernel, scf::ForOp op) {
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
  auto isInside = [&](Value array) { return kernel.getBody().isAncestor(array.getParentRegion()); };
  bool isCarry = transition && from && to && from.getSource() == to.getSource() &&
                 isConstantIntValue(from.getMixedOffsets()[1], 0) &&
                 isConstantIntValue(to.getMixedOffsets()[1], 0) &&
                 isa<Value>(transition.getMixedOffsets()[1]) &&
                 transition.getSourceType().getLayout().isIdentity() &&
                 !isInside(transition.getSource()) &&
                 AffineMapLayout::get(apply).size <= static_cast<int64_t>(kernel.getThreads());
  return isCarry ? std::optional(CarryLoop(kernel, op, apply)) : std::nullopt;
}

CarryLoop::CarryLoop(bgpu::KernelOp kernel, scf::ForOp op, ApplyTransitionOp apply)
    : kernel(kernel), op(op), loc(apply.getLoc()), layout(AffineMapLayout::get(apply)) {
  auto view = apply.getTransition().getDefiningOp<memref::SubViewOp>();
  transitions = view.getSource();
  element = view.getSourceType().getElementType();
  row = cast<Value>(view.getMixedOffsets()[1]);
  cotangents = apply.getCotangent().getDefiningOp<memref::SubViewOp>().getSource();
  OpBuilder builder(kernel);
  SmallVector<ReassociationIndices> groups = {{0}, {1}, {2, 3}};
  vectors = memref::CollapseShapeOp::create(builder, loc, transitions, groups);
  stages = countStages(vectors, kMaxBytesOfTransitions);
}

Place CarryLoop::getCotangent(OpBuilder &builder, Value index) const {
  return {cotangents, {index, getIndex(builder, loc, 0)}};
}

Value CarryLoop::emitStep(OpBuilder &builder, Value index, Value cotangent) const {
  Place from = {bgpu::ShareOp::create(builder, loc, cotangent), {}};
  DeviceMap map = {layout, transitions, {index, row}};
  auto next = bgpu::ForEachOp::create(builder, loc, layout.size, ValueRange(), element,
                                      [&](OpBuilder &inThread, ValueRange at, ValueRange) {
                                        return SmallVector<Value>{
                                            emitApply(inThread, loc, map, from, at[0])};
                                      });
  return next.getResult(0);
}

/// Loads a row of the transition and the cotangent before requesting the next transition and
/// multiplying.
Value CarryLoop::emitFetchedStep(OpBuilder &builder, Value index, Value cotangent) const {
  Place map = {bgpu::FetchOp::create(builder, loc, vectors, {index, row}, stages), {}};
  Place from = {bgpu::ShareOp::create(builder, loc, cotangent), {}};
  auto type = VectorType::get(MapRow::countValues(layout), element);
  auto loaded = bgpu::ForEachOp::create(
      builder, loc, layout.size, ValueRange(), type,
      [&](OpBuilder &inThread, ValueRange at, ValueRange) {
        SmallVector<Value> values =
            MapRow::load(inThread, loc, layout, map, from, at[0]).getValues();
        return SmallVector<Value>{packScalars(inThread, loc, values)};
      });
  auto next = bgpu::ForEachOp::create(
      builder, loc, layout.size, loaded.getResults(), element,
      [&](OpBuilder &inThread, ValueRange, ValueRange vector) {
        SmallVector<Value> values;
        for (int64_t i = 0; i < type.getNumElements(); ++i)
          values.push_back(vector::ExtractOp::create(inThread, loc, vector[0], i));
        return SmallVector<Value>{MapRow::get(layout, values).apply(inThread, loc)};
      });
  return next.getResult(0);
}

void CarryLoop::convert() {
  OpBuilder builder(op);
  auto distinct =
      memref::DistinctObjectsOp::create(builder, loc, ValueRange{transitions, cotangents});
  transitions = distinct.getResult(0);
  cotangents = distinct.getResult(1);
  auto first = bgpu::ForEachOp::create(
      builder, loc, layout.size, ValueRange(), element,
      [&](OpBuilder &inThread, ValueRange at, ValueRange) {
        Value zero = getIndex(inThread, loc, 0);
        return SmallVector<Value>{getCotangent(inThread, zero).load(inThread, loc, at[0])};
      });
  scf::ForOp::create(
      builder, loc, op.getLowerBound(), op.getUpperBound(), op.getStep(), first.getResults(),
      [&](OpBuilder &nested, Location, Value index, ValueRange carried) {
        Value next = stages > 0 ? emitFetchedStep(nested, index, carried[0])
                                : emitStep(nested, index, carried[0]);
        Place to = getCotangent(nested, addIndex(nested, loc, index, 1));
        bgpu::ForEachOp::create(nested, loc, layout.size, next,
                                [&](OpBuilder &inThread, ValueRange at, ValueRange value) {
                                  to.store(inThread, loc, value[0], at[0]);
                                });
        scf::YieldOp::create(nested, loc, next);
      });
  if (stages > 0)
    kernel.setRepeatLast(true);
  op.erase();
}
