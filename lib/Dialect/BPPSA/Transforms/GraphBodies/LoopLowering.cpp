//===- LoopLowering.cpp - one loop in graph form as scf.for ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LoopLowering.h"
#include "BodyRewrites.h"
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

void LoopLowering::lower(RecurrenceOp loop) {
  size_t numStates = loop.getInitial().size();
  auto states = loop.getBody().getArguments().drop_front(loop.getSequences().size());
  ValueRange yielded = loop.getBody().front().getTerminator()->getOperands();
  Value numSlots = add(numSteps, one);
  SmallVector<WrittenByRows> carried;
  SmallVector<Value> replacements(loop->getNumResults());
  SmallVector<unsigned> position(loop->getNumResults());
  for (auto [i, result] : llvm::enumerate(loop->getResults())) {
    Value array = createArray(yielded[i].getType(), i < numStates ? numSlots : numSteps,
                              cast<RankedTensorType>(result.getType()));
    if (steady.contains(result)) {
      // What is left of its uses are sizes.
      replacements[i] = array;
      continue;
    }
    if (i < numStates)
      array = write(loop.getInitial()[i], array, yielded[i].getType(),
                    loop.getReverse() ? numSteps : zero);
    position[i] = carried.size();
    carried.push_back({array, 1});
  }
  Value last = loop.getReverse() ? subtract(numSteps, one) : Value();
  auto emitStep = [&](RowMapper &mapper, Value iteration, ValueRange arrays) {
    Value step = last ? subtract(last, iteration) : iteration;
    Value next = add(step, one);
    Value before = last ? next : step, after = last ? step : next;
    emitCell(loop, mapper, step, [&](size_t i) {
      Type type = states[i].getType();
      return replacements[i] ? readSteady(loop.getInitial()[i], type)
                             : readCarried(arrays[position[i]], type, before);
    });
    SmallVector<Value> written;
    for (auto [i, value] : llvm::enumerate(yielded))
      if (!replacements[i])
        written.push_back(write(mapper.getRows(value), arrays[position[i]], value.getType(),
                                i < numStates ? after : step));
    return written;
  };
  SmallVector<Value> results =
      createBlocks(carried, /*sumTypes=*/{}, [&](ValueRange arrays, LoopLikeOpInterface outermost) {
        return createStepLoop(numSteps, arrays, outermost, emitStep);
      });
  for (auto [i, replacement] : llvm::enumerate(replacements))
    if (!replacement)
      replacement = results[position[i]];
  replace(loop, replacements);
}

SmallVector<WrittenByRows> LoopLowering::createChainArrays(ChainOp chain) {
  size_t numSaved = chain.getSaved().size(), numStates = chain.getSeeds().size();
  auto states = chain.getBody().getArguments().slice(numSaved, numStates);
  ValueRange emitted = chain.getBody().front().getTerminator()->getOperands().drop_front(numStates);
  SmallVector<WrittenByRows> arrays;
  for (auto [seed, argument] : llvm::zip_equal(chain.getSeeds(), states)) {
    Type type = getRowsType(argument.getType());
    bool isSame = seed.getType() == type;
    arrays.push_back({isSame ? seed : tensor::CastOp::create(builder, loc, type, seed), 0});
  }
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
  // New cotangents take the memory of the old ones, which nothing reads from here on.
  auto states = llvm::map_to_vector(yielded.take_front(numStates),
                                    [&](Value value) { return mapper.getRows(value); });
  for (size_t i = 0; i < numStates; ++i)
    results[i] = linalg::CopyOp::create(builder, loc, states[i], arrays[i]).getResult(0);
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
