//===- BPPSAEvaluators.cpp - bppsa ----------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SampleLayout.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSAChunks.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSAExchange.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Reference/Interpreter.h"
#include <cmath>

using namespace mlir;
using namespace bppsa;

namespace {
/// Number of steps and samples that the sequences of a loop agree on.
struct Extent {
  int64_t steps = 0, samples = 0;
};
} // namespace

/// Checks that `sequences` have one number of steps and `states` and they one
/// number of samples. `steps` is the number of steps of a loop without sequences.
static FailureOr<Extent> getExtent(Operation *op, Interpreter &interpreter, SampleLayout layout,
                                   ValueRange sequences, ValueRange states, Value steps = {}) {
  Extent extent;
  if (sequences.empty()) {
    extent = {interpreter.getInteger(steps), interpreter.get(states.front()).shape.front()};
    if (extent.steps < 0)
      return op->emitOpError() << "needs a number of steps, found " << extent.steps, failure();
  } else {
    const Array &first = interpreter.get(sequences.front());
    extent = {layout.getNumSteps(first), layout.getNumSamples(first)};
  }
  for (Value value : sequences) {
    const Array &sequence = interpreter.get(value);
    SmallVector<int64_t> features = layout.getValueShape(sequence, /*hasTime=*/true);
    if (ArrayRef<int64_t>(sequence.shape) !=
        ArrayRef<int64_t>(layout.getSequenceShape(extent.steps, extent.samples, features)))
      return op->emitOpError() << "needs sequences of " << extent.steps << " steps and "
                               << extent.samples << " samples, found other sizes",
             failure();
  }
  for (Value value : states) {
    const Array &state = interpreter.get(value);
    SmallVector<int64_t> features = layout.getValueShape(state, /*hasTime=*/false);
    if (ArrayRef<int64_t>(state.shape) !=
        ArrayRef<int64_t>(layout.getStateShape(extent.samples, features)))
      return op->emitOpError() << "needs states of " << extent.samples
                               << " samples, found other sizes",
             failure();
  }
  return extent;
}

//===----------------------------------------------------------------------===//
// Time loops
//===----------------------------------------------------------------------===//

static LogicalResult evaluateRecurrence(RecurrenceOp op, Interpreter &interpreter) {
  SampleLayout layout(op.getLanes());
  FailureOr<Extent> extent =
      getExtent(op, interpreter, layout, op.getSequences(), op.getInitial(), op.getSteps());
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

/// Adds `addend` to the value of `argument`.
static void addTo(Interpreter &interpreter, Value argument, const Array &addend) {
  Array sum = interpreter.get(argument);
  for (auto [to, from] : llvm::zip_equal(sum.reals, addend.reals))
    to += from;
  interpreter.set(argument, std::move(sum));
}

/// Zeros for each sum of a chain of the values `summed`.
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

/// `sums` one after the other, each column by column.
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

/// Adds to `sum` the outer product of `value` and `factor`, or `value` without one.
static void addProduct(Array &sum, const Array &value, const Array *factor) {
  forEachElementIndex(sum.shape, [&](ArrayRef<int64_t> index) {
    int64_t position = sum.getPosition(index);
    sum.reals[position] +=
        factor ? value.reals[index[0]] * factor->reals[index[1]] : value.reals[position];
  });
}

/// A chain with any plan: all mean the same.
static LogicalResult evaluateChain(ChainOp op, Interpreter &interpreter) {
  SampleLayout layout(op.getLanes());
  SmallVector<Value> sequences(op.getSaved());
  llvm::append_range(sequences, op.getInjected());
  llvm::append_range(sequences, op.getFactors());
  FailureOr<Extent> extent =
      getExtent(op, interpreter, layout, sequences, op.getSeeds(), op.getSteps());
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

//===----------------------------------------------------------------------===//
// Ops of a body
//===----------------------------------------------------------------------===//

static LogicalResult evaluateMatVec(MatVecOp op, Interpreter &interpreter) {
  const Array &matrix = interpreter.get(op.getMatrix()), &vector = interpreter.get(op.getVector());
  Array result =
      op.getAddend() ? interpreter.get(op.getAddend()) : Array::makeZeros(op.getType().getShape());
  for (int64_t row = 0; row < result.shape[0]; ++row)
    for (int64_t col = 0; col < vector.shape[0]; ++col)
      result.reals[row] +=
          vector.reals[col] * matrix.reals[op.getTransposed() ? matrix.getPosition({col, row})
                                                              : matrix.getPosition({row, col})];
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Sums and layout
//===----------------------------------------------------------------------===//

/// The samples that `op` sums over, of the `all` that its sequences have.
template <typename SumOp>
static int64_t getSummedSamples(SumOp op, Interpreter &interpreter, int64_t all) {
  return op.getBatch() ? interpreter.getInteger(op.getBatch()) : all;
}

static LogicalResult evaluateOuterSum(OuterSumOp op, Interpreter &interpreter) {
  SampleLayout layout(op.getLanes());
  FailureOr<Extent> extent =
      getExtent(op, interpreter, layout, ValueRange{op.getLhs(), op.getRhs()}, {});
  if (failed(extent))
    return failure();
  const Array &lhs = interpreter.get(op.getLhs()), &rhs = interpreter.get(op.getRhs());
  int64_t samples = getSummedSamples(op, interpreter, extent->samples);
  Array result = Array::makeZeros(getValueShape(op.getResult().getType()));
  forEachElementIndex(result.shape, [&](ArrayRef<int64_t> index) {
    double &sum = result.reals[result.getPosition(index)];
    for (int64_t t = 0; t < extent->steps; ++t)
      for (int64_t b = 0; b < samples; ++b)
        sum += layout.readElement(lhs, t, b, index[0]) * layout.readElement(rhs, t, b, index[1]);
  });
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateStepSum(StepSumOp op, Interpreter &interpreter) {
  SampleLayout layout(op.getLanes());
  const Array &sequence = interpreter.get(op.getSequence());
  int64_t samples = getSummedSamples(op, interpreter, layout.getNumSamples(sequence));
  Array result = Array::makeZeros(getValueShape(op.getResult().getType()));
  for (int64_t n = 0; n < result.shape[0]; ++n)
    for (int64_t t = 0; t < layout.getNumSteps(sequence); ++t)
      for (int64_t b = 0; b < samples; ++b)
        result.reals[n] += layout.readElement(sequence, t, b, n);
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateReduceSums(ReduceSumsOp op, Interpreter &interpreter) {
  const Array &parts = interpreter.get(op.getParts());
  int64_t first = 0, size = parts.shape[2];
  for (Value result : op.getSums()) {
    Array sum = Array::makeZeros(getValueShape(result.getType()));
    int64_t columns = sum.getRank() == 2 ? sum.shape[1] : 1, rows = sum.shape[0];
    for (int64_t part = 0; part < parts.shape[0] * parts.shape[1]; ++part)
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column)
          sum.reals[row * columns + column] +=
              parts.reals[part * size + first + column * rows + row];
    first += rows * columns;
    interpreter.set(result, std::move(sum));
  }
  return success();
}

/// Copies the samples of `from` to `to`, each in its own layout.
static void copySamples(SampleLayout fromLayout, const Array &from, SampleLayout toLayout,
                        Array &to, bool hasTime, int64_t samples, int64_t steps) {
  for (int64_t b = 0; b < samples; ++b)
    for (int64_t t = 0; t < (hasTime ? steps : 1); ++t) {
      std::optional<int64_t> step = hasTime ? std::optional(t) : std::nullopt;
      toLayout.write(to, step, b, fromLayout.read(from, step, b));
    }
}

static LogicalResult evaluatePack(PackLanesOp op, Interpreter &interpreter) {
  SampleLayout plain(std::nullopt), packed(op.getLanes());
  const Array &source = interpreter.get(op.getSource());
  bool hasTime = source.getRank() == 3;
  int64_t features = source.shape.back(), lanes = op.getLanes();
  int64_t samples = source.shape[hasTime ? 1 : 0], steps = hasTime ? source.shape[0] : 1;
  int64_t padded = (samples + lanes - 1) / lanes * lanes;
  Array result = Array::makeZeros(hasTime ? packed.getSequenceShape(steps, padded, features)
                                          : packed.getStateShape(padded, features),
                                  source.isFloat);
  copySamples(plain, source, packed, result, hasTime, samples, steps);
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateUnpack(UnpackLanesOp op, Interpreter &interpreter) {
  SampleLayout plain(std::nullopt), packed(op.getLanes());
  const Array &source = interpreter.get(op.getSource());
  bool hasTime = source.getRank() == 4;
  int64_t features = source.shape.end()[-2], samples = interpreter.getInteger(op.getBatch());
  int64_t steps = hasTime ? source.shape[1] : 1, lanes = op.getLanes();
  if (samples < 0 || (samples + lanes - 1) / lanes != source.shape[0])
    return op.emitOpError() << "unpacks " << samples << " samples from " << source.shape[0]
                            << " blocks of " << lanes << " lanes";
  Array result = Array::makeZeros(hasTime ? plain.getSequenceShape(steps, samples, features)
                                          : plain.getStateShape(samples, features),
                                  source.isFloat);
  copySamples(packed, source, plain, result, hasTime, samples, steps);
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

/// Copies all chunks of `plain`, which has one lane, to `packed` or back.
static void copyChunks(Array &plain, Array &packed, int64_t lanes, int64_t chunks, bool packs) {
  SampleLayout oneLane(1), many(lanes);
  int64_t samples = plain.shape[0], steps = packed.shape[1];
  for (int64_t b = 0; b < samples; ++b)
    for (int64_t t = 0; t < chunks * steps; ++t) {
      int64_t row = b * chunks + t / steps, step = t % steps;
      if (packs)
        many.write(packed, step, row, oneLane.read(plain, t, b));
      else
        oneLane.write(plain, t, b, many.read(packed, step, row));
    }
}

static LogicalResult evaluatePackChunks(PackChunksOp op, Interpreter &interpreter) {
  Array source = interpreter.get(op.getSource());
  int64_t steps = interpreter.getInteger(op.getSteps()), lanes = op.getLanes();
  if (steps < 1 || source.shape[1] % steps != 0)
    return op.emitOpError() << "cuts " << source.shape[1] << " steps into chunks of " << steps;
  int64_t chunks = source.shape[1] / steps;
  int64_t padded = llvm::divideCeil(source.shape[0] * chunks, lanes) * lanes;
  Array result = Array::makeZeros(
      SampleLayout(lanes).getSequenceShape(steps, padded, source.shape[2]), source.isFloat);
  copyChunks(source, result, lanes, chunks, /*packs=*/true);
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateUnpackChunks(UnpackChunksOp op, Interpreter &interpreter) {
  Array source = interpreter.get(op.getSource()), result = interpreter.get(op.getDestination());
  int64_t samples = result.shape[0], lanes = op.getLanes(), steps = source.shape[1];
  int64_t chunks = steps == 0 ? 0 : result.shape[1] / steps;
  if (chunks * steps != result.shape[1] ||
      static_cast<int64_t>(llvm::divideCeil(samples * chunks, lanes)) != source.shape[0])
    return op.emitOpError() << "unpacks " << source.shape[0] << " blocks of " << lanes
                            << " chunks of " << steps << " steps to " << samples << " samples of "
                            << result.shape[1] << " steps";
  copyChunks(result, source, lanes, chunks, /*packs=*/false);
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

void bppsa::addBPPSAEvaluators(EvaluatorTable &table) {
  table.add<RecurrenceOp>(evaluateRecurrence);
  table.add<ChainOp>(evaluateChain);
  table.add<MatVecOp>(evaluateMatVec);
  table.add<OuterSumOp>(evaluateOuterSum);
  table.add<StepSumOp>(evaluateStepSum);
  table.add<ReduceSumsOp>(evaluateReduceSums);
  table.add<PackLanesOp>(evaluatePack);
  table.add<UnpackLanesOp>(evaluateUnpack);
  table.add<PackChunksOp>(evaluatePackChunks);
  table.add<UnpackChunksOp>(evaluateUnpackChunks);
  // What no pass has specialised is of a model that is not trained.
  table.add<DropoutOp>([](DropoutOp op, Interpreter &interpreter) {
    interpreter.copy(op.getInput(), op.getResult());
    return success();
  });
  table.add<RunningStatisticOp>([](RunningStatisticOp op, Interpreter &interpreter) {
    for (Value result : op->getResults())
      interpreter.copy(op.getRunning(), result);
    return success();
  });
  // One process has the whole batch.
  table.add<RankMeanOp>([](RankMeanOp op, Interpreter &interpreter) {
    interpreter.copy(op.getOperand(), op.getResult());
    return success();
  });
  table.add<RankWeightOp>([](RankWeightOp op, Interpreter &interpreter) {
    interpreter.set(op.getWeight(), Array::makeScalar(1));
    return success();
  });
  table.add<StopGradientOp>([](StopGradientOp op, Interpreter &interpreter) {
    interpreter.copy(op.getOperand(), op.getResult());
    return success();
  });
  table.add<MarkPhaseOp>([](MarkPhaseOp, Interpreter &) { return success(); });
}
