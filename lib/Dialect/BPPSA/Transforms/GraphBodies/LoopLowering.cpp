//===- LoopLowering.cpp - lowers a loop in graph form ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LoopLowering.h"
#include "BodyRewrites.h"
#include "TransientStates.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace bppsa;

LoopLowering::LoopLowering(Operation *op, const SteadyStates &steady, ValueRange sequences,
                           ValueRange states, ValueRange captures, Value steps)
    : op(op), steady(steady), loc(op->getLoc()), builder(op),
      rowsOfBlock(getRowsOfBlock(op->getRegion(0).front(), captures)) {
  Value first = sequences.empty() ? states.front() : sequences.front();
  bool hasTime = !sequences.empty();
  rows = tensor::getMixedSize(builder, loc, first, hasTime ? 1 : 0);
  firstRow = builder.getIndexAttr(0);
  numSteps = getValueOrCreateConstantIndexOp(
      builder, loc, hasTime ? tensor::getMixedSize(builder, loc, first, 0) : steps);
  zero = arith::ConstantIndexOp::create(builder, loc, 0);
  one = arith::ConstantIndexOp::create(builder, loc, 1);
}

//===----------------------------------------------------------------------===//
// Arrays over time
//===----------------------------------------------------------------------===//

LoopLowering::Window LoopLowering::getWindow(Type value, Value slot, OpFoldResult firstRow) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value).getShape();
  SmallVector<OpFoldResult> sizes = {builder.getIndexAttr(1), rows};
  llvm::append_range(sizes, getAsIndexOpFoldResult(builder.getContext(), shape));
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      strides(sizes.size(), builder.getIndexAttr(1));
  offsets[0] = slot;
  offsets[1] = firstRow;
  return {offsets, sizes, strides};
}

RankedTensorType LoopLowering::getRowsType(Type value) {
  auto type = cast<RankedTensorType>(value);
  SmallVector<int64_t> shape = {getConstantIntValue(rows).value_or(ShapedType::kDynamic)};
  llvm::append_range(shape, type.getShape());
  return type.clone(shape);
}

Value LoopLowering::read(Value array, Type value, Value slot, OpFoldResult firstRow) {
  auto [offsets, sizes, strides] = getWindow(value, slot, firstRow);
  return tensor::ExtractSliceOp::create(builder, loc, getRowsType(value), array, offsets, sizes,
                                        strides);
}

Value LoopLowering::readSteady(Value values, Type value) {
  auto [offsets, sizes, strides] = getWindow(value, /*slot=*/zero, firstRow);
  auto drop = [](ArrayRef<OpFoldResult> list) { return list.drop_front(); };
  return tensor::ExtractSliceOp::create(builder, loc, getRowsType(value), values, drop(offsets),
                                        drop(sizes), drop(strides));
}

Value LoopLowering::write(Value rowsOfValue, Value array, Type value, Value slot) {
  auto [offsets, sizes, strides] = getWindow(value, slot, builder.getIndexAttr(0));
  return tensor::InsertSliceOp::create(builder, loc, rowsOfValue, array, offsets, sizes, strides);
}

Value LoopLowering::createArray(Type value, Value numSlots, RankedTensorType like) {
  auto type = cast<RankedTensorType>(value);
  SmallVector<OpFoldResult> sizes = {numSlots, rows};
  llvm::append_range(sizes, getAsIndexOpFoldResult(builder.getContext(), type.getShape()));
  if (like)
    for (int64_t dim : {0, 1})
      if (!like.isDynamicDim(dim))
        sizes[dim] = builder.getIndexAttr(like.getDimSize(dim));
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
  return !like || empty.getType() == like ? empty
                                          : tensor::CastOp::create(builder, loc, like, empty);
}

Value LoopLowering::add(Value lhs, Value rhs) {
  return arith::AddIOp::create(builder, loc, lhs, rhs);
}
Value LoopLowering::subtract(Value lhs, Value rhs) {
  return arith::SubIOp::create(builder, loc, lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<Value> LoopLowering::createFor(Value count, ValueRange carried, IterationEmitter emit) {
  auto loop = scf::ForOp::create(builder, loc, zero, count, one, carried);
  OpBuilder::InsertionGuard guard(builder);
  if (!carried.empty())
    builder.setInsertionPointToStart(loop.getBody());
  else
    builder.setInsertionPoint(loop.getBody()->getTerminator());
  SmallVector<Value> yielded = emit(loop.getInductionVar(), loop.getRegionIterArgs(),
                                    cast<LoopLikeOpInterface>(loop.getOperation()));
  if (!carried.empty())
    scf::YieldOp::create(builder, loc, yielded);
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> LoopLowering::createStepLoop(
    Value count, ValueRange carried, LoopLikeOpInterface outermost,
    function_ref<SmallVector<Value>(RowMapper &, Value, ValueRange)> emit) {
  RowMapper mapper(builder, loc, rows);
  LoopLikeOpInterface made;
  SmallVector<Value> results =
      createFor(count, carried, [&](Value step, ValueRange arrays, LoopLikeOpInterface loop) {
        made = loop;
        return emit(mapper, step, arrays);
      });
  hoistOps(mapper.getSharedOps(), outermost ? outermost : made);
  return results;
}

SmallVector<Value> LoopLowering::createBlocks(ArrayRef<WrittenByRows> arrays, TypeRange sumTypes,
                                              LoopsEmitter emit) {
  std::optional<int64_t> numRows = getConstantIntValue(rows);
  bool isNested = op->getParentOfType<RecurrenceOp>() || op->getParentOfType<ChainOp>();
  if (rowBlocks && !isNested && !(numRows && *numRows <= rowsOfBlock)) {
    OpFoldResult allRows = rows;
    SmallVector<Value> results = createRowBlocks(builder, loc, allRows, rowsOfBlock, arrays,
                                                 sumTypes, [&](const RowBlock &block) {
                                                   rows = block.rows;
                                                   firstRow = block.firstRow;
                                                   return emit(block.arrays, block.loop);
                                                 });
    rows = allRows;
    firstRow = builder.getIndexAttr(0);
    return results;
  }
  SmallVector<Value> carried;
  for (const WrittenByRows &written : arrays)
    carried.push_back(written.array);
  for (Type sum : sumTypes)
    carried.push_back(createZeros(builder, loc, sum));
  return emit(carried, /*outermost=*/nullptr);
}

void LoopLowering::replace(Operation *loop, ValueRange results) {
  for (auto [from, to] : llvm::zip_equal(loop->getResults(), results)) {
    if (from.use_empty())
      continue;
    Value value = to;
    if (from.getType() != to.getType())
      value = tensor::CastOp::create(builder, loc, from.getType(), to);
    from.replaceAllUsesWith(value);
  }
  loop->erase();
}

//===----------------------------------------------------------------------===//
// States without trajectories
//===----------------------------------------------------------------------===//

static Value getViewed(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
             tensor::ReshapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

SmallVector<Value> LoopLowering::copyStatesInPlace(ValueRange states, ValueRange arrays) {
  SmallVector<Value> values(states), results(arrays);
  // Copy views before any of the carried arrays is overwritten.
  for (auto [value, array] : llvm::zip_equal(values, arrays)) {
    if (value == array || !llvm::is_contained(arrays, getViewed(value)))
      continue;
    Value empty = tensor::EmptyOp::create(builder, loc, tensor::getMixedSizes(builder, loc, value),
                                          getElementTypeOrSelf(value.getType()));
    value = linalg::CopyOp::create(builder, loc, value, empty).getResult(0);
  }
  for (auto [value, result] : llvm::zip_equal(values, results))
    if (value != result)
      result = linalg::CopyOp::create(builder, loc, value, result).getResult(0);
  return results;
}

Value LoopLowering::createStart(Value initial, Type value) {
  Type type = getRowsType(value);
  return initial.getType() == type ? initial : tensor::CastOp::create(builder, loc, type, initial);
}

//===----------------------------------------------------------------------===//
// Recurrences and chains
//===----------------------------------------------------------------------===//

void LoopLowering::emitCell(RecurrenceOp loop, RowMapper &mapper, Value step, Reader readState) {
  size_t numSequences = loop.getSequences().size(), numStates = loop.getInitial().size();
  auto arguments = loop.getBody().getArguments();
  for (auto [argument, sequence] :
       llvm::zip_equal(arguments.take_front(numSequences), loop.getSequences()))
    mapper.setRows(argument, readInput(sequence, argument.getType(), step));
  for (size_t i = 0; i < numStates; ++i)
    mapper.setRows(arguments[numSequences + i], readState(i));
  for (auto [argument, capture] :
       llvm::zip_equal(arguments.drop_front(numSequences + numStates), loop.getCaptures()))
    mapper.setShared(argument, capture);
  mapper.convert(loop.getBody().front().getOperations());
}

LoopLowering::CarriedResults LoopLowering::createResultArrays(RecurrenceOp loop) {
  size_t numStates = loop.getInitial().size();
  ValueRange yielded = loop.getBody().front().getTerminator()->getOperands();
  Value numSlots = add(numSteps, one);
  CarriedResults carried;
  for (auto [i, result] : llvm::enumerate(loop->getResults())) {
    bool isState = i < numStates;
    Type type = yielded[i].getType();
    Value array =
        createArray(type, isState ? numSlots : numSteps, cast<RankedTensorType>(result.getType()));
    carried.replacements.push_back(array);
    if (steady.contains(result))
      continue;
    if (isState && isTransient(loop, i)) {
      carried.transient.push_back(i);
      continue;
    }
    if (isState)
      array = write(loop.getInitial()[i], array, type, loop.getReverse() ? numSteps : zero);
    carried.whole.push_back(i);
    carried.arrays.push_back({array, 1});
  }
  for (unsigned state : carried.transient)
    carried.arrays.push_back({createStart(loop.getInitial()[state], yielded[state].getType()), 0});
  return carried;
}

SmallVector<Value> LoopLowering::emitStep(RecurrenceOp loop, const CarriedResults &carried,
                                          RowMapper &mapper, Value step, ValueRange arrays) {
  size_t numSequences = loop.getSequences().size(), numStates = loop.getInitial().size();
  size_t numWhole = carried.whole.size();
  auto states = loop.getBody().getArguments().slice(numSequences, numStates);
  ValueRange yielded = loop.getBody().front().getTerminator()->getOperands();
  Value next = add(step, one);
  Value before = loop.getReverse() ? next : step, after = loop.getReverse() ? step : next;
  emitCell(loop, mapper, step, [&](size_t i) {
    const unsigned *whole = llvm::find(carried.whole, i);
    const unsigned *transient = llvm::find(carried.transient, i);
    if (whole != carried.whole.end())
      return readCarried(arrays[whole - carried.whole.begin()], states[i].getType(), before);
    if (transient != carried.transient.end())
      return arrays[numWhole + (transient - carried.transient.begin())];
    return readSteady(loop.getInitial()[i], states[i].getType());
  });
  SmallVector<Value> written, last;
  for (auto [i, array] : llvm::zip_equal(carried.whole, arrays.take_front(numWhole)))
    written.push_back(write(mapper.getRows(yielded[i]), array, yielded[i].getType(),
                            i < numStates ? after : step));
  for (unsigned i : carried.transient)
    last.push_back(mapper.getRows(yielded[i]));
  llvm::append_range(written, copyStatesInPlace(last, arrays.drop_front(numWhole)));
  return written;
}

void LoopLowering::lower(RecurrenceOp loop) {
  CarriedResults carried = createResultArrays(loop);
  Value last = loop.getReverse() ? subtract(numSteps, one) : Value();
  auto emit = [&](RowMapper &mapper, Value iteration, ValueRange arrays) {
    Value step = last ? subtract(last, iteration) : iteration;
    return emitStep(loop, carried, mapper, step, arrays);
  };
  SmallVector<Value> results = createBlocks(
      carried.arrays, /*sumTypes=*/{}, [&](ValueRange arrays, LoopLikeOpInterface outermost) {
        return createStepLoop(numSteps, arrays, outermost, emit);
      });
  size_t numWhole = carried.whole.size();
  for (auto [i, result] : llvm::zip_equal(carried.whole, ArrayRef(results).take_front(numWhole)))
    carried.replacements[i] = result;
  for (auto [i, state] : llvm::zip_equal(carried.transient, ArrayRef(results).drop_front(numWhole)))
    replaceFinalReads(loop.getTrajectories()[i], state);
  replace(loop, carried.replacements);
}

SmallVector<WrittenByRows> LoopLowering::createChainArrays(ChainOp chain) {
  size_t numSaved = chain.getSaved().size(), numStates = chain.getSeeds().size();
  auto states = chain.getBody().getArguments().slice(numSaved, numStates);
  ValueRange emitted = chain.getBody().front().getTerminator()->getOperands().drop_front(numStates);
  SmallVector<WrittenByRows> arrays;
  for (auto [seed, argument] : llvm::zip_equal(chain.getSeeds(), states))
    arrays.push_back({createStart(seed, argument.getType()), 0});
  for (auto [i, result] : llvm::enumerate(chain.getEmitted()))
    arrays.push_back(
        {createArray(emitted[i].getType(), numSteps, cast<RankedTensorType>(result.getType())), 1});
  return arrays;
}

SmallVector<Value> LoopLowering::emitLink(ChainOp chain, RowMapper &mapper, Value step,
                                          ValueRange arrays, Reader readSaved) {
  size_t numSaved = chain.getSaved().size(), numStates = chain.getSeeds().size();
  size_t numEmitted = chain.getEmitted().size();
  auto arguments = chain.getBody().getArguments();
  ValueRange yielded = chain.getBody().front().getTerminator()->getOperands();
  for (size_t i = 0; i < numSaved; ++i)
    mapper.setRows(arguments[i], readSaved(i));
  SmallVector<Value> entering(arrays.take_front(numStates));
  for (auto [sequence, state] : llvm::zip_equal(chain.getInjected(), chain.getInjectInto()))
    entering[state] =
        createTensorSum(builder, loc, entering[state],
                        readInput(sequence, arguments[numSaved + state].getType(), step));
  for (auto [argument, cotangent] : llvm::zip_equal(arguments.slice(numSaved, numStates), entering))
    mapper.setRows(argument, cotangent);
  for (auto [argument, capture] :
       llvm::zip_equal(arguments.drop_front(numSaved + numStates), chain.getCaptures()))
    mapper.setShared(argument, capture);
  mapper.convert(chain.getBody().front().getOperations());
  SmallVector<Value> results(arrays);
  for (size_t i = yielded.size(); i-- > 0;) {
    Value value = yielded[i], array = arrays[i];
    if (i >= numStates + numEmitted)
      results[i] = mapper.addSum(value, array);
    else if (i >= numStates)
      results[i] = write(mapper.getRows(value), array, value.getType(), step);
  }
  // The old cotangents are not read from here on.
  auto states = llvm::map_to_vector(yielded.take_front(numStates),
                                    [&](Value value) { return mapper.getRows(value); });
  llvm::copy(copyStatesInPlace(states, arrays.take_front(numStates)), results.begin());
  return results;
}

void LoopLowering::lower(ChainOp loop) {
  auto arguments = loop.getBody().getArguments();
  Value last = loop.getReverse() ? Value() : subtract(numSteps, one);
  auto emitStep = [&](RowMapper &mapper, Value iteration, ValueRange arrays) {
    Value step = last ? subtract(last, iteration) : iteration;
    return emitLink(loop, mapper, step, arrays, [&](size_t i) {
      Value saved = loop.getSaved()[i];
      Type type = arguments[i].getType();
      Value values = steady.lookup(saved);
      return values ? readSteady(values, type) : readInput(saved, type, step);
    });
  };
  replace(loop, createBlocks(createChainArrays(loop), loop.getSums().getTypes(),
                             [&](ValueRange arrays, LoopLikeOpInterface outermost) {
                               return createStepLoop(numSteps, arrays, outermost, emitStep);
                             }));
}
