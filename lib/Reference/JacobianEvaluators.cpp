//===- JacobianEvaluators.cpp - evaluators of Jacobians and transitions ---===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SampleView.h"
#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"
#include "bppsa/Reference/Interpreter.h"

using namespace mlir;
using namespace bppsa;

static double getEntry(const Array &jacobian, int64_t b, int64_t row, int64_t col) {
  return jacobian.getRank() == 3 ? jacobian.reals[jacobian.getPosition({b, row, col})]
                                 : jacobian.reals[jacobian.getPosition({row, col})];
}

/// Returns nullopt if all samples share one matrix.
static std::optional<int64_t> getJacobianBatch(jacobian::MatrixType type, const Array *array) {
  if (!type.getBatch())
    return std::nullopt;
  return ShapedType::isDynamic(*type.getBatch()) && array ? array->shape[0] : *type.getBatch();
}

static SmallVector<int64_t> getJacobianShape(jacobian::MatrixType type,
                                             std::optional<int64_t> batch) {
  if (!batch)
    return {type.getRows(), type.getCols()};
  return {*batch, type.getRows(), type.getCols()};
}

static LogicalResult linearizeSample(jacobian::LinearizeOp op, Interpreter &interpreter, int64_t b,
                                     Array &result) {
  Block &body = op.getBody().front();
  size_t numSaved = op.getSaved().size();
  for (auto [k, value] : llvm::enumerate(op.getSaved()))
    interpreter.set(body.getArgument(k),
                    SampleView(std::nullopt).read(interpreter.get(value), std::nullopt, b));
  ValueRange yielded = body.getTerminator()->getOperands().take_front(op.getStates().size());
  int64_t size = result.shape.back();
  for (int64_t col = 0; col < size; ++col) {
    int64_t offset = 0;
    for (auto [k, features] : llvm::enumerate(op.getStates())) {
      Array unit = Array::makeZeros(features);
      if (col >= offset && col < offset + features)
        unit.reals[col - offset] = 1;
      interpreter.set(body.getArgument(numSaved + k), std::move(unit));
      offset += features;
    }
    if (failed(interpreter.run(body)))
      return failure();
    int64_t row = 0;
    for (Value value : yielded)
      for (double entry : interpreter.get(value).reals)
        result.reals[(b * size + row++) * size + col] = entry;
  }
  return success();
}

static LogicalResult evaluateLinearize(jacobian::LinearizeOp op, Interpreter &interpreter) {
  auto type = cast<jacobian::MatrixType>(op.getResult().getType());
  const Array *saved = op.getSaved().empty() ? nullptr : &interpreter.get(op.getSaved().front());
  std::optional<int64_t> batch = getJacobianBatch(type, saved);
  if (batch && ShapedType::isDynamic(*batch))
    return op.emitOpError("needs a saved array to know the number of samples");
  Block &body = op.getBody().front();
  interpreter.copy(op.getCaptures(),
                   body.getArguments().drop_front(op.getSaved().size() + op.getStates().size()));
  Array result = Array::makeZeros(getJacobianShape(type, batch));
  for (int64_t b = 0; b < batch.value_or(1); ++b)
    if (failed(linearizeSample(op, interpreter, b, result)))
      return failure();
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateAssemble(jacobian::AssembleOp op, Interpreter &interpreter) {
  auto type = cast<jacobian::MatrixType>(op.getType());
  const Array &source = interpreter.get(op.getSource());
  std::optional<int64_t> batch = getJacobianBatch(type, &source);
  SparsityPattern pattern = type.computePattern();
  // The stride is zero if all samples share the source.
  int64_t stride = batch ? source.shape.back() : 0, size = type.getRows() * type.getCols();
  Array result = Array::makeZeros(getJacobianShape(type, batch));
  for (int64_t b = 0; b < batch.value_or(1); ++b)
    for (int64_t row = 0, entry = 0; row < type.getRows(); ++row)
      for (int32_t col : pattern.getRow(row)) {
        int64_t position = op.getPositions() ? (*op.getPositions())[entry] : entry;
        result.reals[b * size + row * type.getCols() + col] = source.reals[b * stride + position];
        ++entry;
      }
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateCompose(jacobian::ComposeOp op, Interpreter &interpreter) {
  const Array &first = interpreter.get(op.getFirst()), &second = interpreter.get(op.getSecond());
  auto type = cast<jacobian::MatrixType>(op.getType());
  std::optional<int64_t> batch = getJacobianBatch(type, first.getRank() == 3 ? &first : &second);
  Array result = Array::makeZeros(getJacobianShape(type, batch));
  int64_t position = 0;
  for (int64_t b = 0; b < batch.value_or(1); ++b)
    for (int64_t row = 0; row < type.getRows(); ++row)
      for (int64_t col = 0; col < type.getCols(); ++col, ++position)
        for (int64_t k = 0; k < first.shape.end()[-2]; ++k)
          result.reals[position] += getEntry(second, b, row, k) * getEntry(first, b, k, col);
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateApply(jacobian::ApplyOp op, Interpreter &interpreter) {
  const Array &jacobian = interpreter.get(op.getJacobian());
  const Array &cotangent = interpreter.get(op.getCotangent());
  int64_t samples = cotangent.shape[0];
  if (jacobian.getRank() == 3 && jacobian.shape[0] != samples)
    return op.emitOpError() << "has jacobians of " << jacobian.shape[0]
                            << " samples and cotangents of " << samples;
  int64_t rows = jacobian.shape.end()[-2], cols = jacobian.shape.end()[-1];
  Array result = Array::makeZeros({samples, rows});
  for (int64_t b = 0; b < samples; ++b)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t col = 0; col < cols; ++col)
        result.reals[b * rows + row] +=
            getEntry(jacobian, b, row, col) * cotangent.reals[b * cols + col];
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

namespace {
/// Arrays have shape `[samples, columns, rows]` or, with `byRows`, `[samples, rows, columns]`.
class TransitionArray {
public:
  TransitionArray(std::optional<int64_t> lanes, bool isDiagonal, int64_t size, bool byRows = false)
      : lanes(lanes), isDiagonal(isDiagonal), byRows(byRows), size(size) {}

  int64_t getNumMatrixColumns() const { return isDiagonal ? 1 : size; }
  int64_t getPosition(const Array &array, int64_t b, int64_t column, int64_t row) const {
    if (byRows)
      std::swap(column, row);
    if (lanes)
      return array.getPosition({b / *lanes, column, row, b % *lanes});
    return array.getPosition({b, column, row});
  }
  /// Returns A * vector, plus s if `withOffset`.
  std::vector<double> apply(const Array &array, int64_t b, ArrayRef<double> vector,
                            bool withOffset) const {
    std::vector<double> result(size, 0.0);
    for (int64_t row = 0; row < size; ++row) {
      for (int64_t column = 0; column < getNumMatrixColumns(); ++column)
        result[row] +=
            array.reals[getPosition(array, b, column, row)] * vector[isDiagonal ? row : column];
      if (withOffset && array.shape[1] > getNumMatrixColumns())
        result[row] += array.reals[getPosition(array, b, getNumMatrixColumns(), row)];
    }
    return result;
  }
  int64_t getNumSamples(const Array &array) const { return array.shape[0] * lanes.value_or(1); }

private:
  std::optional<int64_t> lanes;
  bool isDiagonal, byRows;
  int64_t size;
};
} // namespace

static LogicalResult applyRun(TransitionOp op, Interpreter &interpreter, int64_t b, int64_t steps,
                              bool inject, std::vector<double> &column) {
  SampleView layout(op.getLanes());
  Block &body = op.getBody().front();
  size_t numSaved = op.getSaved().size();
  for (int64_t count = 0; count < steps; ++count) {
    int64_t t = op.getReverse() ? count : steps - 1 - count;
    for (auto [k, value] : llvm::enumerate(op.getSaved()))
      interpreter.set(body.getArgument(k), layout.read(interpreter.get(value), t, b));
    SmallVector<Array> states;
    const double *next = column.data();
    for (int64_t size : op.getStates()) {
      states.push_back(Array::makeZeros(size));
      for (double &entry : states.back().reals)
        entry = *next++;
    }
    for (auto [value, state] : llvm::zip_equal(op.getInjected(), op.getInjectInto())) {
      Array addend = layout.read(interpreter.get(value), t, b);
      for (int64_t n = 0; inject && n < addend.shape[0]; ++n)
        states[state].reals[n] += addend.reals[n];
    }
    for (auto [k, state] : llvm::enumerate(states))
      interpreter.set(body.getArgument(numSaved + k), std::move(state));
    if (failed(interpreter.run(body)))
      return failure();
    column.clear();
    for (Value yielded : body.getTerminator()->getOperands())
      llvm::append_range(column, interpreter.get(yielded).reals);
  }
  return success();
}

static LogicalResult evaluateTransition(TransitionOp op, Interpreter &interpreter) {
  SampleView layout(op.getLanes());
  const Array &saved = interpreter.get(op.getSaved().front());
  int64_t steps = layout.getNumSteps(saved);
  interpreter.counts.linksOnColumns += layout.getNumSamples(saved) ? steps : 0;
  Block &body = op.getBody().front();
  interpreter.copy(op.getCaptures(),
                   body.getArguments().drop_front(op.getSaved().size() + op.getStates().size()));
  Array result = interpreter.get(op.getDestination());
  int64_t size = op.getNumValues();
  TransitionArray layoutOfResult(op.getLanes(), op.getDiagonal(), size, op.getByRows());
  for (int64_t b = 0; b < layoutOfResult.getNumSamples(result); ++b)
    for (int64_t c = 0; c < result.shape[1]; ++c) {
      bool isOffset = c == layoutOfResult.getNumMatrixColumns();
      std::vector<double> column(size, op.getDiagonal() && !isOffset ? 1.0 : 0.0);
      if (!op.getDiagonal() && !isOffset)
        column[c] = 1.0;
      if (failed(applyRun(op, interpreter, b, steps, isOffset, column)))
        return failure();
      for (auto [row, entry] : llvm::enumerate(column))
        result.reals[layoutOfResult.getPosition(result, b, c, row)] = entry;
    }
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static void addTerm(FactoredTransitionOp op, Interpreter &interpreter, TermAttr term, int64_t b,
                    std::vector<double> &matrix) {
  SampleView layout(op.getLanes());
  int64_t rows = op.getStates()[term.getRow()], cols = op.getStates()[term.getCol()];
  auto readScale = [&](int64_t number, int64_t size) {
    if (number < 0)
      return std::vector<double>(size, 1.0);
    Array scale = layout.read(interpreter.get(op.getScales()[number]), std::nullopt, b);
    return std::vector<double>(scale.reals.begin(), scale.reals.end());
  };
  std::vector<double> left = readScale(term.getLeft(), rows);
  std::vector<double> right = readScale(term.getRight(), cols);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t col = 0; col < cols; ++col) {
      double entry = row == col ? 1 : 0;
      if (term.getMatrix() >= 0) {
        const Array &shared = interpreter.get(op.getMatrices()[term.getMatrix()]);
        entry = shared.reals[term.getTransposed() ? shared.getPosition({col, row})
                                                  : shared.getPosition({row, col})];
      }
      matrix[(op.getStateOffset(term.getRow()) + row) * op.getNumValues() +
             op.getStateOffset(term.getCol()) + col] += left[row] * entry * right[col];
    }
}

static LogicalResult evaluateFactoredTransition(FactoredTransitionOp op, Interpreter &interpreter) {
  ++interpreter.counts.linksOnColumns;
  SampleView vectors(op.getLanes());
  int64_t size = op.getNumValues();
  Array result = interpreter.get(op.getDestination());
  TransitionArray layout(op.getLanes(), /*isDiagonal=*/false, size);
  for (int64_t b = 0; b < layout.getNumSamples(result); ++b) {
    std::vector<double> matrix(size * size), offset(size);
    for (TermAttr term : op.getTerms().getAsRange<TermAttr>())
      addTerm(op, interpreter, term, b, matrix);
    for (auto [value, state] : llvm::zip_equal(op.getInjected(), op.getInjectInto())) {
      Array injected = vectors.read(interpreter.get(value), std::nullopt, b);
      for (int64_t row = 0; row < size; ++row)
        for (auto [col, entry] : llvm::enumerate(injected.reals))
          offset[row] += matrix[row * size + op.getStateOffset(state) + col] * entry;
    }
    for (int64_t row = 0; row < size; ++row) {
      for (int64_t col = 0; col < size; ++col)
        result.reals[layout.getPosition(result, b, col, row)] = matrix[row * size + col];
      if (!op.getInjected().empty())
        result.reals[layout.getPosition(result, b, size, row)] = offset[row];
    }
  }
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateComposeTransitions(ComposeTransitionsOp op, Interpreter &interpreter) {
  ++interpreter.counts.compositions;
  const Array &first = interpreter.get(op.getFirst()), &second = interpreter.get(op.getSecond());
  Array result = interpreter.get(op.getDestination());
  int64_t size = first.shape[2];
  TransitionArray layout(op.getLanes(), op.getDiagonal(), size);
  for (int64_t b = 0; b < layout.getNumSamples(first); ++b)
    for (int64_t c = 0; c < first.shape[1]; ++c) {
      std::vector<double> column(size);
      for (int64_t row = 0; row < size; ++row)
        column[row] = first.reals[layout.getPosition(first, b, c, row)];
      column = layout.apply(second, b, column, /*withOffset=*/c == layout.getNumMatrixColumns());
      for (int64_t row = 0; row < size; ++row)
        result.reals[layout.getPosition(result, b, c, row)] = column[row];
    }
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateApplyTransition(ApplyTransitionOp op, Interpreter &interpreter) {
  ++interpreter.counts.applications;
  const Array &transition = interpreter.get(op.getTransition());
  const Array &cotangent = interpreter.get(op.getCotangent());
  Array result = interpreter.get(op.getDestination());
  SampleView vectors(op.getLanes());
  TransitionArray layout(op.getLanes(), op.getDiagonal(), transition.shape[2], op.getByRows());
  for (int64_t b = 0; b < layout.getNumSamples(transition); ++b) {
    Array vector = vectors.read(cotangent, std::nullopt, b);
    std::vector<double> product = layout.apply(
        transition, b, ArrayRef<double>(vector.reals.data(), vector.reals.size()), true);
    llvm::copy(product, vector.reals.begin());
    vectors.write(result, std::nullopt, b, vector);
  }
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

/// Only plans use the Jacobian of a link.
static LogicalResult evaluateLink(jacobian::LinkOp op, Interpreter &interpreter) {
  Block &rule = op.getRule().front();
  interpreter.copy(op.getCotangent(), rule.getArgument(0));
  if (failed(interpreter.run(rule)))
    return failure();
  interpreter.copy(rule.getTerminator()->getOperands(), op.getResults());
  return success();
}

void bppsa::addJacobianEvaluators(EvaluatorTable &table) {
  table.add<jacobian::AssembleOp>(evaluateAssemble);
  table.add<jacobian::LinearizeOp>(evaluateLinearize);
  table.add<jacobian::ComposeOp>(evaluateCompose);
  table.add<jacobian::ApplyOp>(evaluateApply);
  table.add<jacobian::LinkOp>(evaluateLink);
  table.add<TransitionOp>(evaluateTransition);
  table.add<FactoredTransitionOp>(evaluateFactoredTransition);
  table.add<ComposeTransitionsOp>(evaluateComposeTransitions);
  table.add<ApplyTransitionOp>(evaluateApplyTransition);
}
