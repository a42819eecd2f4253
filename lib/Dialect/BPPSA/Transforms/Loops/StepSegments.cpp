//===- StepSegments.cpp - arrays of segments of steps ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepSegments.h"
#include "bppsa/Support/RuntimeCalls.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

using namespace mlir;
using namespace bppsa;

RankedTensorType bppsa::getSegmentType(Type whole) {
  auto type = cast<RankedTensorType>(whole);
  SmallVector<int64_t> shape(type.getShape());
  shape[1] = ShapedType::kDynamic;
  return RankedTensorType::get(shape, type.getElementType());
}

/// Returns `[blocks, N, L]`, given an array over steps.
static RankedTensorType getStateType(Type whole) {
  auto type = cast<RankedTensorType>(whole);
  return RankedTensorType::get({type.getDimSize(0), type.getDimSize(2), type.getDimSize(3)},
                               type.getElementType());
}

Value StepSegments::getConstant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value StepSegments::addOne(Value index) {
  return arith::AddIOp::create(builder, loc, index, getConstant(1));
}

/// Reading the size of a packed array would keep it alive.
static OpFoldResult getSize(OpBuilder &builder, Location loc, Value array, int64_t dim) {
  if (auto pack = array.getDefiningOp<PackLanesOp>())
    if (FailureOr<OpFoldResult> size = reifyDimOfResult(builder, pack, 0, dim); succeeded(size))
      return *size;
  return tensor::getMixedSize(builder, loc, array, dim);
}

void StepSegments::choose() {
  RecurrenceOp forward = plan.forward;
  Value sequence = forward.getSequences()[0];
  numBlocks = getSize(builder, loc, sequence, 0);
  numSteps = getValueOrCreateConstantIndexOp(builder, loc, getSize(builder, loc, sequence, 1));
  int64_t lanes = *forward.getLanes();
  Value samples = arith::MulIOp::create(
      builder, loc, getValueOrCreateConstantIndexOp(builder, loc, numBlocks), getConstant(lanes));
  SmallVector<Value> sizes = {numSteps, samples};
  for (int64_t size : {plan.stepBytes, plan.stateBytes, context.totalStepBytes, context.limit})
    sizes.push_back(getConstant(size));
  segmentSteps = emitRuntimeCall(builder, loc, forward->getParentOfType<ModuleOp>(),
                                 "bppsa_rt_recomputed_steps", sizes, builder.getIndexType())
                     .getResult(0);
  Value count = arith::CeilDivUIOp::create(builder, loc, numSteps, segmentSteps);
  numSegments = arith::MaxUIOp::create(builder, loc, count, getConstant(1));
  last = arith::SubIOp::create(builder, loc, numSegments, getConstant(1));
}

StepSegments::Segment StepSegments::get(Value order) {
  Value number = order;
  if (RecurrenceOp(plan.forward).getReverse())
    number = arith::SubIOp::create(builder, loc, last, order);
  Value first = arith::MulIOp::create(builder, loc, number, segmentSteps);
  Value left = arith::SubIOp::create(builder, loc, numSteps, first);
  return {order, first, arith::MinUIOp::create(builder, loc, segmentSteps, left)};
}

struct StepSegments::Window {
  SmallVector<OpFoldResult> offsets, sizes, strides;
};

StepSegments::Window StepSegments::getWindow(Value array, Value first, Value count) {
  auto type = cast<RankedTensorType>(array.getType());
  OpFoldResult zero = builder.getIndexAttr(0);
  return {{zero, first, zero, zero},
          {numBlocks, count, builder.getIndexAttr(type.getDimSize(2)),
           builder.getIndexAttr(type.getDimSize(3))},
          SmallVector<OpFoldResult>(4, builder.getIndexAttr(1))};
}

StepSegments::Window StepSegments::getStart(Value starts, Value order) {
  Window window = getWindow(starts, order, order);
  window.offsets = {order, builder.getIndexAttr(0), builder.getIndexAttr(0),
                    builder.getIndexAttr(0)};
  window.sizes[0] = builder.getIndexAttr(1);
  window.sizes[1] = numBlocks;
  return window;
}

Value StepSegments::slice(Value array, Value first, Value count) {
  Window window = getWindow(array, first, count);
  return tensor::ExtractSliceOp::create(builder, loc, getSegmentType(array.getType()), array,
                                        window.offsets, window.sizes, window.strides);
}

Value StepSegments::insert(Value part, Value whole, Value first, Value count) {
  Window window = getWindow(whole, first, count);
  return tensor::InsertSliceOp::create(builder, loc, part, whole, window.offsets, window.sizes,
                                       window.strides);
}

Value StepSegments::sliceSequence(Value sequence, const Segment &segment) {
  if (!context.packedBySegments.contains(sequence))
    return slice(sequence, segment.first, segment.count);
  auto pack = sequence.getDefiningOp<PackLanesOp>();
  auto plain = cast<RankedTensorType>(pack.getSource().getType());
  SmallVector<OpFoldResult> offsets(3, builder.getIndexAttr(0)),
      strides(3, builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, pack.getSource());
  offsets[0] = segment.first;
  sizes[0] = segment.count;
  auto type = RankedTensorType::get(
      {ShapedType::kDynamic, plain.getDimSize(1), plain.getDimSize(2)}, plain.getElementType());
  Value steps =
      tensor::ExtractSliceOp::create(builder, loc, type, pack.getSource(), offsets, sizes, strides);
  return PackLanesOp::create(builder, loc, getSegmentType(sequence.getType()), steps, Value(),
                             pack.getLanesAttr())
      .getResult();
}

Value StepSegments::create(Type arrayType, Value count) {
  auto type = cast<RankedTensorType>(arrayType);
  SmallVector<Value> sizes;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(size))
      sizes.push_back(dim == 0 ? cast<Value>(numBlocks) : count);
  return bufferization::AllocTensorOp::create(builder, loc, type, sizes);
}

Value StepSegments::sliceStart(Type state, Value starts, Value order) {
  Window window = getStart(starts, order);
  return tensor::ExtractSliceOp::create(builder, loc, cast<RankedTensorType>(state), starts,
                                        window.offsets, window.sizes, window.strides);
}

Value StepSegments::insertStart(Value state, Value starts, Value order) {
  Window window = getStart(starts, order);
  return tensor::InsertSliceOp::create(builder, loc, state, starts, window.offsets, window.sizes,
                                       window.strides);
}

Value StepSegments::sliceFinalState(Value trajectory, const Segment &segment) {
  Value slot = RecurrenceOp(plan.forward).getReverse() ? getConstant(0) : segment.count;
  Window window = getWindow(trajectory, slot, slot);
  window.sizes[1] = builder.getIndexAttr(1);
  return tensor::ExtractSliceOp::create(builder, loc, getStateType(trajectory.getType()),
                                        trajectory, window.offsets, window.sizes, window.strides);
}
