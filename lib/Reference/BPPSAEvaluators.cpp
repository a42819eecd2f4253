//===- BPPSAEvaluators.cpp - evaluators of bppsa and dist ops -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "bppsa/Reference/Interpreter.h"

using namespace mlir;
using namespace bppsa;

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

void bppsa::addBPPSAEvaluators(EvaluatorTable &table) {
  table.add<MatVecOp>(evaluateMatVec);
  // Dropout is evaluated as in inference.
  table.add<DropoutOp>([](DropoutOp op, Interpreter &interpreter) {
    interpreter.copy(op.getInput(), op.getResult());
    return success();
  });
  table.add<RunningStatisticOp>([](RunningStatisticOp op, Interpreter &interpreter) {
    for (Value result : op->getResults())
      interpreter.copy(op.getRunning(), result);
    return success();
  });
  // A single process has the whole batch.
  table.add<dist::RankMeanOp>([](dist::RankMeanOp op, Interpreter &interpreter) {
    interpreter.copy(op.getOperand(), op.getResult());
    return success();
  });
  table.add<dist::RankWeightOp>([](dist::RankWeightOp op, Interpreter &interpreter) {
    interpreter.set(op.getWeight(), Array::makeScalar(1));
    return success();
  });
  // It also has all time steps.
  table.add<dist::ShardEnterOp>([](dist::ShardEnterOp op, Interpreter &interpreter) {
    interpreter.copy(op.getOperand(), op.getResult());
    return success();
  });
  table.add<dist::ShardLeaveOp>([](dist::ShardLeaveOp op, Interpreter &interpreter) {
    interpreter.set(op.getResult(), op.getTransposed()
                                        ? Array::makeZeros(interpreter.get(op.getOperand()).shape)
                                        : Array::makeScalar(0));
    return success();
  });
  table.add<dist::ShardScanOp>([](dist::ShardScanOp op, Interpreter &interpreter) {
    interpreter.set(op.getResult(), Array::makeZeros(interpreter.get(op.getOwn()).shape));
    return success();
  });
  table.add<dist::ShardFirstStepOp>([](dist::ShardFirstStepOp op, Interpreter &interpreter) {
    interpreter.set(op.getFirst(), Array::makeIndex(0));
    return success();
  });
  table.add<dist::ShardAllStepsOp>([](dist::ShardAllStepsOp op, Interpreter &interpreter) {
    interpreter.copy(op.getOwn(), op.getAll());
    return success();
  });
  table.add<StopGradientOp>([](StopGradientOp op, Interpreter &interpreter) {
    interpreter.copy(op.getOperand(), op.getResult());
    return success();
  });
  table.add<MarkPhaseOp>([](MarkPhaseOp, Interpreter &) { return success(); });
}
