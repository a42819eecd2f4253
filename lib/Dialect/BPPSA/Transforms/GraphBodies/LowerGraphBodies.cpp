//===- LowerGraphBodies.cpp - loops whose body is a graph to scf.for ------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Time becomes scf.for, and the body is written for all rows at once. The loop carries nothing but
// arrays that it writes in slices: a state is read from its trajectory, so that bufferization finds
// every write in place. Around the loop rows are taken in blocks, which threads share: the steps of
// a graph are many short loops, none of which is worth a second thread.
//
//===----------------------------------------------------------------------===//

#include "BodyRewrites.h"
#include "RowBlocks.h"
#include "RowMapper.h"
#include "bppsa/Dialect/BPPSA/Transforms/GraphBodies/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace bppsa {
#define GEN_PASS_DEF_LOWERGRAPHBODIES
#include "bppsa/Dialect/BPPSA/Transforms/GraphBodies/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {
/// Writes one loop in graph form.
class LoopLowering {
public:
  LoopLowering(Operation *op, ValueRange sequences, ValueRange states, ValueRange captures,
               Value steps)
      : op(op), loc(op->getLoc()), builder(op), body(op->getRegion(0).front()),
        rowsOfBlock(getRowsOfBlock(body, captures)) {
    Value first = sequences.empty() ? states.front() : sequences.front();
    bool hasTime = !sequences.empty();
    rows = tensor::getMixedSize(builder, loc, first, hasTime ? 1 : 0);
    firstRow = builder.getIndexAttr(0);
    numSteps = getValueOrCreateConstantIndexOp(
        builder, loc, hasTime ? tensor::getMixedSize(builder, loc, first, 0) : steps);
    one = arith::ConstantIndexOp::create(builder, loc, 1);
  }

  void lower(RecurrenceOp loop);
  void lower(ChainOp loop);

private:
  /// Writes a step: what the loop carries, before it and after it.
  using StepEmitter = function_ref<SmallVector<Value>(RowMapper &, Value step, ValueRange)>;
  struct Window {
    SmallVector<OpFoldResult> offsets, sizes, strides;
  };

  /// Step `step` of a sequence of values of type `value`, from row `firstRow` on.
  Window getWindow(Type value, Value step, OpFoldResult firstRow);
  RankedTensorType getRowsType(Type value);
  /// The rows of the block in a sequence that is not written.
  Value readInput(Value sequence, Type value, Value step) {
    return read(sequence, value, step, firstRow);
  }
  Value read(Value sequence, Type value, Value step, OpFoldResult firstRow);
  Value write(Value rowsOfValue, Value sequence, Type value, Value step);
  /// An uninitialised array of the type of `result`, with `numSlots` slots where it is over time.
  Value createArray(Value result, Value numSlots);
  /// A loop from the last step to the first where it runs `backward`, for each block of rows. What
  /// it carries are `arrays`, then sums over rows of `sumTypes`.
  SmallVector<Value> createLoops(bool backward, ArrayRef<WrittenByRows> arrays, TypeRange sumTypes,
                                 StepEmitter emitStep);
  SmallVector<Value> createLoop(bool backward, ValueRange carried, StepEmitter emitStep,
                                LoopLikeOpInterface outermost);
  void replace(ValueRange results);
  ArrayRef<BlockArgument> arguments(size_t first, size_t count) {
    return body.getArguments().slice(first, count);
  }

  Operation *op;
  Location loc;
  OpBuilder builder;
  Block &body;
  int64_t rowsOfBlock;
  /// The rows of the block that is written, and the first of them; all where there are no blocks.
  OpFoldResult rows, firstRow;
  Value numSteps, one;
};
} // namespace

LoopLowering::Window LoopLowering::getWindow(Type value, Value step, OpFoldResult firstRow) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value).getShape();
  SmallVector<OpFoldResult> sizes = {builder.getIndexAttr(1), rows};
  llvm::append_range(sizes, getAsIndexOpFoldResult(builder.getContext(), shape));
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      strides(sizes.size(), builder.getIndexAttr(1));
  offsets[0] = step;
  offsets[1] = firstRow;
  return {offsets, sizes, strides};
}

RankedTensorType LoopLowering::getRowsType(Type value) {
  auto type = cast<RankedTensorType>(value);
  SmallVector<int64_t> shape = {getConstantIntValue(rows).value_or(ShapedType::kDynamic)};
  llvm::append_range(shape, type.getShape());
  return type.clone(shape);
}

Value LoopLowering::read(Value sequence, Type value, Value step, OpFoldResult firstRow) {
  auto [offsets, sizes, strides] = getWindow(value, step, firstRow);
  return tensor::ExtractSliceOp::create(builder, loc, getRowsType(value), sequence, offsets, sizes,
                                        strides);
}

Value LoopLowering::write(Value rowsOfValue, Value sequence, Type value, Value step) {
  auto [offsets, sizes, strides] = getWindow(value, step, builder.getIndexAttr(0));
  return tensor::InsertSliceOp::create(builder, loc, rowsOfValue, sequence, offsets, sizes,
                                       strides);
}

Value LoopLowering::createArray(Value result, Value numSlots) {
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<OpFoldResult> sizes = getAsIndexOpFoldResult(builder.getContext(), type.getShape());
  if (type.isDynamicDim(0))
    sizes[0] = numSlots;
  if (type.isDynamicDim(1))
    sizes[1] = rows;
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
  return empty.getType() == type ? empty : tensor::CastOp::create(builder, loc, type, empty);
}

SmallVector<Value> LoopLowering::createLoop(bool backward, ValueRange carried, StepEmitter emitStep,
                                            LoopLikeOpInterface outermost) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value last = backward ? arith::SubIOp::create(builder, loc, numSteps, one) : Value();
  auto loop = scf::ForOp::create(builder, loc, zero, numSteps, one, carried);
  OpBuilder::InsertionGuard guard(builder);
  if (!carried.empty())
    builder.setInsertionPointToStart(loop.getBody());
  else
    builder.setInsertionPoint(loop.getBody()->getTerminator());
  Value step = loop.getInductionVar();
  if (backward)
    step = arith::SubIOp::create(builder, loc, last, step);
  RowMapper mapper(builder, loc, rows);
  SmallVector<Value> yielded = emitStep(mapper, step, loop.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(builder, loc, yielded);
  hoistOps(mapper.getSharedOps(),
           outermost ? outermost : cast<LoopLikeOpInterface>(loop.getOperation()));
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> LoopLowering::createLoops(bool backward, ArrayRef<WrittenByRows> arrays,
                                             TypeRange sumTypes, StepEmitter emitStep) {
  std::optional<int64_t> numRows = getConstantIntValue(rows);
  bool isNested = op->getParentOfType<RecurrenceOp>() || op->getParentOfType<ChainOp>();
  if (!isNested && !(numRows && *numRows <= rowsOfBlock)) {
    OpFoldResult allRows = rows;
    SmallVector<Value> results = createRowBlocks(
        builder, loc, allRows, rowsOfBlock, arrays, sumTypes, [&](const RowBlock &block) {
          rows = block.rows;
          firstRow = block.firstRow;
          return createLoop(backward, block.arrays, emitStep, block.loop);
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
  return createLoop(backward, carried, emitStep, /*outermost=*/nullptr);
}

//===----------------------------------------------------------------------===//
// Recurrences and chains
//===----------------------------------------------------------------------===//

void LoopLowering::replace(ValueRange results) {
  SmallVector<Value> values;
  for (auto [from, to] : llvm::zip_equal(op->getResults(), results))
    values.push_back(from.getType() == to.getType()
                         ? to
                         : tensor::CastOp::create(builder, loc, from.getType(), to));
  op->replaceAllUsesWith(values);
  op->erase();
}

void LoopLowering::lower(RecurrenceOp loop) {
  size_t numSequences = loop.getSequences().size(), numStates = loop.getInitial().size();
  ValueRange yielded = body.getTerminator()->getOperands();
  Value numSlots = arith::AddIOp::create(builder, loc, numSteps, one);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  SmallVector<WrittenByRows> carried;
  for (auto [i, result] : llvm::enumerate(loop->getResults())) {
    Value array = createArray(result, i < numStates ? numSlots : numSteps);
    if (i < numStates)
      array = write(loop.getInitial()[i], array, yielded[i].getType(),
                    loop.getReverse() ? numSteps : zero);
    carried.push_back({array, 1});
  }
  auto emitStep = [&](RowMapper &mapper, Value step, ValueRange arrays) {
    Value next = arith::AddIOp::create(builder, loc, step, one);
    Value before = loop.getReverse() ? next : step, after = loop.getReverse() ? step : next;
    for (auto [argument, sequence] :
         llvm::zip_equal(arguments(0, numSequences), loop.getSequences()))
      mapper.setRows(argument, readInput(sequence, argument.getType(), step));
    for (auto [argument, array] :
         llvm::zip_equal(arguments(numSequences, numStates), arrays.take_front(numStates)))
      mapper.setRows(argument, read(array, argument.getType(), before, builder.getIndexAttr(0)));
    for (auto [argument, capture] : llvm::zip_equal(
             body.getArguments().drop_front(numSequences + numStates), loop.getCaptures()))
      mapper.setShared(argument, capture);
    mapper.convert(body.getOperations());
    SmallVector<Value> written;
    for (auto [i, value, array] : llvm::enumerate(yielded, arrays))
      written.push_back(
          write(mapper.getRows(value), array, value.getType(), i < numStates ? after : step));
    return written;
  };
  replace(createLoops(loop.getReverse(), carried, /*sumTypes=*/{}, emitStep));
}

void LoopLowering::lower(ChainOp loop) {
  size_t numSaved = loop.getSaved().size(), numStates = loop.getSeeds().size();
  size_t numEmitted = loop.getEmitted().size();
  ValueRange yielded = body.getTerminator()->getOperands();
  SmallVector<WrittenByRows> carried;
  for (auto [seed, argument] : llvm::zip_equal(loop.getSeeds(), arguments(numSaved, numStates))) {
    Type type = getRowsType(argument.getType());
    bool isSame = seed.getType() == type;
    carried.push_back({isSame ? seed : tensor::CastOp::create(builder, loc, type, seed), 0});
  }
  for (Value result : loop.getEmitted())
    carried.push_back({createArray(result, numSteps), 1});
  auto emitStep = [&](RowMapper &mapper, Value step, ValueRange arrays) {
    for (auto [argument, saved] : llvm::zip_equal(arguments(0, numSaved), loop.getSaved()))
      mapper.setRows(argument, readInput(saved, argument.getType(), step));
    SmallVector<Value> entering(arrays.take_front(numStates));
    for (auto [sequence, state] : llvm::zip_equal(loop.getInjected(), loop.getInjectInto()))
      entering[state] =
          createTensorSum(builder, loc, entering[state],
                          readInput(sequence, body.getArgument(numSaved + state).getType(), step));
    for (auto [argument, cotangent] : llvm::zip_equal(arguments(numSaved, numStates), entering))
      mapper.setRows(argument, cotangent);
    for (auto [argument, capture] :
         llvm::zip_equal(body.getArguments().drop_front(numSaved + numStates), loop.getCaptures()))
      mapper.setShared(argument, capture);
    mapper.convert(body.getOperations());
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
  };
  replace(createLoops(!loop.getReverse(), carried, loop.getSums().getTypes(), emitStep));
}

namespace {
struct LowerGraphBodies : public bppsa::impl::LowerGraphBodiesBase<LowerGraphBodies> {
  void runOnOperation() override {
    // Inner loops come first: they are part of the graph of the outer ones then.
    SmallVector<Operation *> loops;
    getOperation().walk([&](Operation *op) {
      auto recurrence = dyn_cast<RecurrenceOp>(op);
      auto chain = dyn_cast<ChainOp>(op);
      if ((recurrence && recurrence.isGraphForm()) || (chain && chain.isGraphForm()))
        loops.push_back(op);
    });
    for (Operation *op : loops) {
      if (failed(generalizeBody(op->getRegion(0).front())))
        return signalPassFailure();
      if (auto loop = dyn_cast<RecurrenceOp>(op))
        LoopLowering(op, loop.getSequences(), loop.getInitial(), loop.getCaptures(),
                     loop.getSteps())
            .lower(loop);
      else if (auto loop = dyn_cast<ChainOp>(op))
        LoopLowering(op, loop.getSaved(), loop.getSeeds(), loop.getCaptures(), loop.getSteps())
            .lower(loop);
    }
  }
};
} // namespace
