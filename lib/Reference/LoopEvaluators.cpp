//===- LoopEvaluators.cpp - evaluators of recurrences and chains ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LoopExtent.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

using namespace mlir;
using namespace bppsa;

static LogicalResult evaluateRecurrence(RecurrenceOp op, Interpreter &interpreter) {
  SampleView layout(op.getLanes());
  FailureOr<LoopExtent> extent =
      getLoopExtent(op, interpreter, layout, op.getSequences(), op.getInitial(), op.getSteps());
  if (failed(extent))
    return failure();
  auto [steps, samples] = *extent;
  Block &body = op.getBody().front();
  ValueRange yielded = body.getTerminator()->getOperands();
  size_t numSequences = op.getSequences().size(), numStates = op.getInitial().size();
  interpreter.copy(op.getCaptures(), body.getArguments().drop_front(numSequences + numStates));

  std::vector<Array> results;
  for (auto [i, value] : llvm::enumerate(yielded))
    results.push_back(Array::makeUninitialized(
        layout.getSequenceShape(steps + (i < numStates), samples, getValueShape(value.getType())),
        isFloatValue(value.getType())));

  bool reverse = op.getReverse();
  for (int64_t b = 0; b < samples; ++b) {
    for (size_t k = 0; k < numStates; ++k) {
      Array state = layout.read(interpreter.get(op.getInitial()[k]), std::nullopt, b);
      layout.write(results[k], reverse ? steps : 0, b, state);
      interpreter.set(body.getArgument(numSequences + k), std::move(state));
    }
    for (int64_t count = 0; count < steps; ++count) {
      int64_t t = reverse ? steps - 1 - count : count;
      for (size_t k = 0; k < numSequences; ++k)
        interpreter.set(body.getArgument(k),
                        layout.read(interpreter.get(op.getSequences()[k]), t, b));
      if (failed(interpreter.run(body)))
        return failure();
      for (auto [k, value] : llvm::enumerate(yielded))
        layout.write(results[k], k < numStates && !reverse ? t + 1 : t, b, interpreter.get(value));
      interpreter.copy(yielded.take_front(numStates),
                       body.getArguments().slice(numSequences, numStates));
    }
  }
  for (auto [result, array] : llvm::zip_equal(op.getResults(), results))
    interpreter.set(result, std::move(array));
  return success();
}

static void addTo(Interpreter &interpreter, Value argument, const Array &addend) {
  Array sum = interpreter.get(argument);
  for (auto [to, from] : llvm::zip_equal(sum.reals, addend.reals))
    to += from;
  interpreter.set(argument, std::move(sum));
}

static std::vector<Array> makeSums(ChainOp op, ValueRange summed) {
  std::vector<Array> zeros;
  for (auto [value, with] : llvm::zip_equal(summed, op.getSumWith())) {
    SmallVector<int64_t, 4> shape = getValueShape(value.getType());
    if (with != kNoFactor)
      shape.push_back(getValueShape(op.getFactors()[with].getType()).back());
    zeros.push_back(Array::makeZeros(shape));
  }
  return zeros;
}

/// Concatenates arrays, each in column-major order.
static Array flatten(ArrayRef<Array> sums) {
  int64_t size = 0;
  for (const Array &sum : sums)
    size += sum.reals.size();
  Array flat = Array::makeZeros({size});
  auto to = flat.reals.begin();
  for (const Array &sum : sums) {
    int64_t columns = sum.getRank() == 2 ? sum.shape[1] : 1, rows = sum.shape[0];
    for (int64_t column = 0; column < columns; ++column)
      for (int64_t row = 0; row < rows; ++row)
        *to++ = sum.reals[row * columns + column];
  }
  return flat;
}

static void addProduct(Array &sum, const Array &value, const Array *factor) {
  forEachElementIndex(sum.shape, [&](ArrayRef<int64_t> index) {
    int64_t position = sum.getPosition(index);
    sum.reals[position] +=
        factor ? value.reals[index[0]] * factor->reals[index[1]] : value.reals[position];
  });
}

/// All plans have the same semantics.
static LogicalResult evaluateChain(ChainOp op, Interpreter &interpreter) {
  SampleView layout(op.getLanes());
  SmallVector<Value> sequences(op.getSaved());
  llvm::append_range(sequences, op.getInjected());
  llvm::append_range(sequences, op.getFactors());
  FailureOr<LoopExtent> extent =
      getLoopExtent(op, interpreter, layout, sequences, op.getSeeds(), op.getSteps());
  if (failed(extent))
    return failure();
  auto [steps, samples] = *extent;
  interpreter.counts.linksOnOne += samples ? steps : 0;
  Block &body = op.getBody().front();
  ValueRange yielded = body.getTerminator()->getOperands();
  size_t numSaved = op.getSaved().size(), numStates = op.getSeeds().size();
  interpreter.copy(op.getCaptures(), body.getArguments().drop_front(numSaved + numStates));

  ValueRange summed = yielded.take_back(op.getSumWith().size());
  yielded = yielded.drop_back(summed.size());
  std::vector<Array> results, sums = makeSums(op, summed);
  for (auto [i, value] : llvm::enumerate(yielded)) {
    SmallVector<int64_t, 4> features = getValueShape(value.getType());
    results.push_back(
        Array::makeUninitialized(i < numStates ? layout.getStateShape(samples, features)
                                               : layout.getSequenceShape(steps, samples, features),
                                 isFloatValue(value.getType())));
  }

  for (int64_t b = 0; b < samples; ++b) {
    for (size_t k = 0; k < numStates; ++k)
      interpreter.set(body.getArgument(numSaved + k),
                      layout.read(interpreter.get(op.getSeeds()[k]), std::nullopt, b));
    for (int64_t count = 0; count < steps; ++count) {
      int64_t t = op.getReverse() ? count : steps - 1 - count;
      for (size_t k = 0; k < numSaved; ++k)
        interpreter.set(body.getArgument(k), layout.read(interpreter.get(op.getSaved()[k]), t, b));
      for (auto [value, state] : llvm::zip_equal(op.getInjected(), op.getInjectInto()))
        addTo(interpreter, body.getArgument(numSaved + state),
              layout.read(interpreter.get(value), t, b));
      if (failed(interpreter.run(body)))
        return failure();
      for (size_t k = numStates; k < yielded.size(); ++k)
        layout.write(results[k], t, b, interpreter.get(yielded[k]));
      for (auto [sum, value, with] : llvm::zip_equal(sums, summed, op.getSumWith())) {
        std::optional<Array> factor;
        if (with != kNoFactor)
          factor = layout.read(interpreter.get(op.getFactors()[with]), t, b);
        addProduct(sum, interpreter.get(value), factor ? &*factor : nullptr);
      }
      interpreter.copy(yielded.take_front(numStates),
                       body.getArguments().slice(numSaved, numStates));
    }
    for (size_t k = 0; k < numStates; ++k)
      layout.write(results[k], std::nullopt, b, interpreter.get(body.getArgument(numSaved + k)));
  }
  if (op.getFlatSums())
    results.push_back(flatten(sums));
  else
    llvm::move(sums, std::back_inserter(results));
  for (auto [result, array] : llvm::zip_equal(op.getResults(), results))
    interpreter.set(result, std::move(array));
  return success();
}

void bppsa::addLoopEvaluators(EvaluatorTable &table) {
  table.add<RecurrenceOp>(evaluateRecurrence);
  table.add<ChainOp>(evaluateChain);
}
