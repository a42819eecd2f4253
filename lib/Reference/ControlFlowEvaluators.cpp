//===- ControlFlowEvaluators.cpp - evaluators of func and scf -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Reference/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

static LogicalResult evaluateCall(func::CallOp op, Interpreter &interpreter) {
  // Each SSA value has one entry, so functions are not reentrant.
  if (op->getParentOfType<func::FuncOp>().getSymName() == op.getCallee())
    return op.emitOpError("recursion cannot be interpreted");
  std::vector<Array> arguments;
  for (Value operand : op.getOperands())
    arguments.push_back(interpreter.get(operand));
  FailureOr<std::vector<Array>> results = interpreter.call(op.getCallee(), std::move(arguments));
  if (failed(results))
    return failure();
  for (auto [value, array] : llvm::zip_equal(op.getResults(), *results))
    interpreter.set(value, std::move(array));
  return success();
}

static LogicalResult evaluateFor(scf::ForOp op, Interpreter &interpreter) {
  int64_t upper = interpreter.getInteger(op.getUpperBound());
  int64_t step = interpreter.getInteger(op.getStep());
  if (step <= 0)
    return op.emitOpError() << "needs a positive step, found " << step;
  interpreter.copy(op.getInitArgs(), op.getRegionIterArgs());
  for (int64_t i = interpreter.getInteger(op.getLowerBound()); i < upper; i += step) {
    interpreter.set(op.getInductionVar(), Array::makeIndex(i));
    if (failed(interpreter.run(*op.getBody())))
      return failure();
    interpreter.copy(op.getBody()->getTerminator()->getOperands(), op.getRegionIterArgs());
  }
  interpreter.copy(op.getRegionIterArgs(), op.getResults());
  return success();
}

static LogicalResult evaluateIf(scf::IfOp op, Interpreter &interpreter) {
  bool condition = interpreter.getInteger(op.getCondition()) != 0;
  Region &region = condition ? op.getThenRegion() : op.getElseRegion();
  if (region.empty())
    return success();
  if (failed(interpreter.run(region.front())))
    return failure();
  interpreter.copy(region.front().getTerminator()->getOperands(), op.getResults());
  return success();
}

void bppsa::addControlFlowEvaluators(EvaluatorTable &table) {
  table.add<func::CallOp>(evaluateCall);
  table.add<scf::ForOp>(evaluateFor);
  table.add<scf::IfOp>(evaluateIf);
}
