//===- StepLoop.cpp - a recurrence of matched steps -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace bppsa;

StepLoop::StepLoop(OpBuilder &builder, Location loc, const StepMatcher &steps, OpFoldResult rows)
    : builder(builder), loc(loc), steps(steps), rows(rows), body(&region.emplaceBlock()),
      inner(builder.getContext()) {
  inner.setInsertionPointToEnd(body);
}

int64_t StepLoop::getSlot(unsigned step) const {
  return isReverse ? steps.getNumSteps() - 1 - step : step;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool StepLoop::countsRows(OpFoldResult size) const { return isEqualConstantIntOrValue(size, rows); }

RankedTensorType StepLoop::getBodyType(Type type, bool hasRows) const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return {};
  ArrayRef<int64_t> shape = tensor.getShape();
  if (hasRows) {
    std::optional<int64_t> count = getConstantIntValue(rows);
    if (shape.empty() || shape.front() != count.value_or(ShapedType::kDynamic))
      return {};
    shape = shape.drop_front();
  }
  if (ShapedType::isDynamicShape(shape))
    return {};
  return RankedTensorType::get(shape, tensor.getElementType());
}

Value StepLoop::addArgument(unsigned position, RankedTensorType type) {
  return body->insertArgument(position, type, loc);
}

//===----------------------------------------------------------------------===//
// Values from outside
//===----------------------------------------------------------------------===//

StepLoop::Emitted StepLoop::emitCapture(Value value, bool hasRows) {
  Value &known = emittedCaptures[{value, hasRows}];
  if (known)
    return known;
  Operation *op = value.getDefiningOp();
  if (op && matchPattern(value, m_Constant()) && !hasRows)
    return known = inner.clone(*op)->getResult(0);
  RankedTensorType type = getBodyType(value.getType(), hasRows);
  if (!type)
    return failure();
  if (isa_and_nonnull<tensor::EmptyOp>(op))
    return known = tensor::EmptyOp::create(inner, loc, type.getShape(), type.getElementType());
  if (auto fill = dyn_cast_or_null<linalg::FillOp>(op);
      fill && matchPattern(fill.getInputs()[0], m_Constant())) {
    Value scalar = inner.clone(*fill.getInputs()[0].getDefiningOp())->getResult(0);
    Value empty = tensor::EmptyOp::create(inner, loc, type.getShape(), type.getElementType());
    return known = linalg::FillOp::create(inner, loc, scalar, empty).getResult(0);
  }
  if (!hasRows) {
    captures.push_back(value);
    return known = addArgument(body->getNumArguments(), type);
  }
  // The value differs between samples, so it becomes a state that never changes.
  Value argument = addArgument(sequences.size() + initial.size(), type);
  initial.push_back(value);
  states.push_back({argument, std::nullopt});
  return emittedCaptures[{value, hasRows}] = argument;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

StepLoop::Emitted StepLoop::emitGeneric(const StepTuple &tuple, bool hasRows) {
  auto generic = cast<linalg::GenericOp>(tuple.getOp(0));
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  SmallVector<utils::IteratorType> iterators = generic.getIteratorTypesArray();
  std::optional<unsigned> loop;
  if (hasRows) {
    auto expr = dyn_cast<AffineDimExpr>(maps.back().getResult(0));
    if (!expr || iterators[expr.getPosition()] != utils::IteratorType::parallel)
      return failure();
    loop = expr.getPosition();
    iterators.erase(iterators.begin() + *loop);
  }
  auto dropLoop = [&](AffineMap map) {
    SmallVector<AffineExpr> dims;
    for (unsigned i = 0, e = map.getNumDims(); i < e; ++i)
      dims.push_back(inner.getAffineDimExpr(i > *loop ? i - 1 : i));
    return map.replaceDimsAndSymbols(dims, {}, map.getNumDims() - 1, 0);
  };
  IRMapping mapping;
  SmallVector<Value> operands, reads = getReads(generic);
  for (auto [i, read] : llvm::enumerate(tuple.reads)) {
    bool isOperand = i < maps.size(), isRow = false;
    if (loop && isOperand) {
      AffineMap &map = maps[i];
      isRow = map.getNumResults() > 0 && map.getResult(0) == inner.getAffineDimExpr(*loop);
      map = isRow ? map.dropResult(0) : map;
      if (map.isFunctionOfDim(*loop))
        return failure();
      map = dropLoop(map);
    }
    bool isScalar = loop && isOperand && isScalarSequence(read);
    Emitted value = isScalar ? emitScalars(read, generic) : emit(read, isRow);
    if (isScalar)
      maps[i] = inner.getMultiDimIdentityMap(iterators.size());
    if (failed(value))
      return failure();
    if (isOperand)
      operands.push_back(*value);
    else
      mapping.map(reads[i], *value);
  }
  for (linalg::IndexOp index : generic.getBody()->getOps<linalg::IndexOp>())
    if (loop && index.getDim() == *loop)
      return failure();
  Value init = operands.back();
  auto made = linalg::GenericOp::create(inner, loc, init.getType(), ArrayRef(operands).drop_back(),
                                        init, maps, iterators);
  generic.getRegion().cloneInto(&made.getRegion(), mapping);
  made.getRegion().walk([&](linalg::IndexOp index) {
    if (loop && index.getDim() > *loop)
      index.setDim(index.getDim() - 1);
  });
  return made.getResult(0);
}

StepLoop::Emitted StepLoop::emitSlice(const StepTuple &tuple, bool hasRows) {
  auto slice = cast<tensor::ExtractSliceOp>(tuple.getOp(0));
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets(), sizes = slice.getMixedSizes(),
                            strides = slice.getMixedStrides();
  RankedTensorType type = getBodyType(slice.getType(), hasRows);
  if (!type || slice.getSourceType().getRank() != slice.getType().getRank())
    return failure();
  if (hasRows) {
    if (!countsRows(sizes[0]) || !isZeroInteger(offsets[0]) || !isOneInteger(strides[0]))
      return failure();
    for (SmallVector<OpFoldResult> *list : {&offsets, &sizes, &strides})
      list->erase(list->begin());
  }
  Emitted source = emit(tuple.reads[0], hasRows);
  if (failed(source) || llvm::any_of(offsets, llvm::IsaPred<Value>) ||
      llvm::any_of(strides, llvm::IsaPred<Value>))
    return failure();
  return tensor::ExtractSliceOp::create(inner, loc, type, *source, offsets, sizes, strides)
      .getResult();
}

StepLoop::Emitted StepLoop::emitReshape(const StepTuple &tuple, bool hasRows) {
  Operation *op = tuple.getOp(0);
  Emitted source = emit(tuple.reads[0], hasRows);
  RankedTensorType type = getBodyType(op->getResultTypes().front(), hasRows);
  if (failed(source) || !type)
    return failure();
  auto before = cast<RankedTensorType>(source->getType());
  if (before.getNumElements() != type.getNumElements())
    return failure();
  if (before == type)
    return *source;
  auto groups = getReassociationIndicesForReshape(before, type);
  if (!groups)
    return failure();
  if (before.getRank() > type.getRank())
    return tensor::CollapseShapeOp::create(inner, loc, type, *source, *groups).getResult();
  return tensor::ExpandShapeOp::create(inner, loc, type, *source, *groups).getResult();
}

StepLoop::Emitted StepLoop::emitOp(unsigned number, bool hasRows) {
  const StepTuple &tuple = steps[number];
  Operation *op = tuple.getOp(0);
  if (isa<linalg::GenericOp>(op))
    return emitGeneric(tuple, hasRows);
  if (isa<tensor::ExtractSliceOp>(op))
    return emitSlice(tuple, hasRows);
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
    return emitReshape(tuple, hasRows);
  SmallVector<Value> operands;
  if (!isa<tensor::ConcatOp, StopGradientOp>(op))
    return failure();
  for (unsigned read : tuple.reads) {
    Emitted operand = emit(read, hasRows);
    if (failed(operand))
      return failure();
    operands.push_back(*operand);
  }
  if (isa<StopGradientOp>(op))
    return StopGradientOp::create(inner, loc, operands[0]).getResult();
  int64_t axis = cast<tensor::ConcatOp>(op).getDim() - hasRows;
  if (axis < 0)
    return failure();
  return tensor::ConcatOp::create(inner, loc, axis, operands).getResult();
}

StepLoop::Emitted StepLoop::emitNew(unsigned tuple, bool hasRows) {
  switch (steps[tuple].kind) {
  case StepTuple::Capture:
    return emitCapture(steps[tuple].front(), hasRows);
  case StepTuple::Sequence:
    return emitSequence(tuple, hasRows);
  case StepTuple::Op:
    return isStackedOutside(tuple) ? emitSequence(tuple, hasRows) : emitOp(tuple, hasRows);
  case StepTuple::State:
    break;
  }
  RankedTensorType type = getBodyType(steps[tuple].front().getType(), hasRows);
  if (!type || !hasRows)
    return failure();
  Value argument = addArgument(sequences.size() + initial.size(), type);
  initial.push_back(steps[tuple].front());
  states.push_back({argument, steps[tuple].next});
  return argument;
}

StepLoop::Emitted StepLoop::emit(unsigned tuple, bool hasRows) {
  if (Value known = emitted.lookup({tuple, hasRows}))
    return known;
  Emitted value = emitNew(tuple, hasRows);
  if (succeeded(value))
    emitted[{tuple, hasRows}] = *value;
  return value;
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// Reverses the loop if all sequences are read from their ends.
void StepLoop::chooseDirection() {
  bool hasForward = false, hasBackward = false;
  for (unsigned i = 0, e = steps.size(); i < e; ++i)
    if (steps[i].kind == StepTuple::Sequence)
      if (std::optional<StepSlices> slices =
              getStepSlices(ArrayRef(steps[i].values).take_front(steps.getNumSteps())))
        (slices->distance > 0 ? hasForward : hasBackward) = true;
  isReverse = hasBackward && !hasForward;
}

LogicalResult StepLoop::addOutput(unsigned tuple) {
  if (outputTuples.empty() && sequences.empty())
    chooseDirection();
  if (failed(emit(tuple, /*hasRows=*/true)))
    return failure();
  outputTuples.push_back(tuple);
  return success();
}

FailureOr<RecurrenceOp> StepLoop::finish() {
  // Emitting a state may add states.
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].second && failed(emit(*states[i].second, /*hasRows=*/true)))
      return failure();
  int64_t count = steps.getNumSteps();
  SmallVector<Value> yielded;
  SmallVector<Type> trajectoryTypes, outputTypes;
  auto yield = [&](Value value, int64_t slots, SmallVector<Type> &types) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape = {slots, getConstantIntValue(rows).value_or(ShapedType::kDynamic)};
    llvm::append_range(shape, type.getShape());
    types.push_back(RankedTensorType::get(shape, type.getElementType()));
    yielded.push_back(value);
  };
  for (auto [argument, next] : states)
    yield(next ? *emit(*next, true) : argument, count + 1, trajectoryTypes);
  DenseMap<unsigned, unsigned> stateOf;
  for (auto [i, state] : llvm::enumerate(states))
    if (state.second)
      stateOf.try_emplace(*state.second, i);
  SmallVector<unsigned> own;
  for (unsigned tuple : outputTuples)
    if (!stateOf.contains(tuple))
      own.push_back(tuple);
  for (unsigned tuple : own)
    yield(*emit(tuple, true), count, outputTypes);
  YieldOp::create(inner, loc, yielded);
  Value stepCount =
      sequences.empty() ? arith::ConstantIndexOp::create(builder, loc, count).getResult() : Value();
  auto loop = RecurrenceOp::create(builder, loc, trajectoryTypes, outputTypes, sequences, initial,
                                   captures, {isReverse, stepCount});
  loop.getBody().takeBody(region);
  for (auto [tuple, value] : llvm::zip_equal(own, loop.getOutputs()))
    outputs[tuple] = value;
  for (auto [tuple, state] : stateOf) {
    Value trajectory = loop.getTrajectories()[state];
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, trajectory);
    SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
        strides(sizes.size(), builder.getIndexAttr(1));
    sizes[0] = builder.getIndexAttr(count);
    offsets[0] = builder.getIndexAttr(isReverse ? 0 : 1);
    outputs[tuple] =
        tensor::ExtractSliceOp::create(builder, loc, trajectory, offsets, sizes, strides);
  }
  return loop;
}
