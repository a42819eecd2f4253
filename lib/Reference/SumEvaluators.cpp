//===- SumEvaluators.cpp - evaluators of sums over steps and samples ------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LoopExtent.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

using namespace mlir;
using namespace bppsa;

/// The sequences have `all` samples.
template <typename SumOp>
static int64_t getSummedSamples(SumOp op, Interpreter &interpreter, int64_t all) {
  return op.getBatch() ? interpreter.getInteger(op.getBatch()) : all;
}

static LogicalResult evaluateOuterSum(OuterSumOp op, Interpreter &interpreter) {
  SampleView layout(op.getLanes());
  FailureOr<LoopExtent> extent =
      getLoopExtent(op, interpreter, layout, ValueRange{op.getLhs(), op.getRhs()}, {});
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
  SampleView layout(op.getLanes());
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

static LogicalResult evaluateAddToSums(AddToSumsOp op, Interpreter &interpreter) {
  SampleView layout(op.getLanes());
  FailureOr<LoopExtent> extent =
      getLoopExtent(op, interpreter, layout, op->getOperands().drop_back(), op.getDestination());
  if (failed(extent))
    return failure();
  const Array &lhs = interpreter.get(op.getLhs());
  const Array *rhs = op.getRhs() ? &interpreter.get(op.getRhs()) : nullptr;
  Array sums = interpreter.get(op.getDestination());
  forEachElementIndex(sums.shape, [&](ArrayRef<int64_t> index) {
    double &sum = sums.reals[sums.getPosition(index)];
    int64_t sample = index.front() * op.getLanes() + index.back();
    for (int64_t t = 0; t < extent->steps; ++t)
      sum += layout.readElement(lhs, t, sample, index[1]) *
             (rhs ? layout.readElement(*rhs, t, sample, index[2]) : 1.0);
  });
  interpreter.set(op.getResult(), std::move(sums));
  return success();
}

static LogicalResult evaluateFinishSums(FinishSumsOp op, Interpreter &interpreter) {
  const Array &sums = interpreter.get(op.getSums());
  int64_t lanes = op.getLanes();
  int64_t samples = getSummedSamples(op, interpreter, sums.shape.front() * lanes);
  Array result = Array::makeZeros(ArrayRef<int64_t>(sums.shape).drop_front().drop_back());
  forEachElementIndex(sums.shape, [&](ArrayRef<int64_t> index) {
    if (index.front() * lanes + index.back() < samples)
      result.reals[result.getPosition(index.drop_front().drop_back())] +=
          sums.reals[sums.getPosition(index)];
  });
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

void bppsa::addSumEvaluators(EvaluatorTable &table) {
  table.add<OuterSumOp>(evaluateOuterSum);
  table.add<StepSumOp>(evaluateStepSum);
  table.add<AddToSumsOp>(evaluateAddToSums);
  table.add<FinishSumsOp>(evaluateFinishSums);
  table.add<ReduceSumsOp>(evaluateReduceSums);
}
