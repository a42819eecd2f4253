//===- StructuredEvaluator.cpp - evaluators of linalg ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Reference/Interpreter.h"
#include "bppsa/Support/AffineEvaluation.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace bppsa;

static FailureOr<SmallVector<int64_t>> getLoopSizes(linalg::LinalgOp op, Interpreter &interpreter) {
  SmallVector<int64_t> sizes(op.getNumLoops(), ShapedType::kDynamic);
  for (OpOperand &operand : op->getOpOperands()) {
    const Array &array = interpreter.get(operand.get());
    for (auto [expr, size] :
         llvm::zip_equal(op.getMatchingIndexingMap(&operand).getResults(), array.shape)) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        continue;
      int64_t &loop = sizes[dim.getPosition()];
      if (!ShapedType::isDynamic(loop) && loop != size)
        return op.emitOpError() << "loop " << dim.getPosition() << " has size " << loop
                                << " for one operand and " << size << " for another",
               failure();
      loop = size;
    }
  }
  if (llvm::is_contained(sizes, ShapedType::kDynamic))
    return op.emitOpError("has a loop whose size no operand gives"), failure();
  return sizes;
}

static FailureOr<int64_t> getPosition(linalg::LinalgOp op, OpOperand &operand, const Array &array,
                                      ArrayRef<int64_t> index) {
  SmallVector<int64_t> element;
  for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults()) {
    element.push_back(evaluate(expr, index));
    if (element.back() < 0 || element.back() >= array.shape[element.size() - 1])
      return op.emitOpError() << "leaves operand " << operand.getOperandNumber() << " at index "
                              << element.back(),
             failure();
  }
  return array.getPosition(element);
}

static LogicalResult runIteration(linalg::LinalgOp op, Interpreter &interpreter,
                                  ArrayRef<int64_t> index, std::vector<Array> &outputs) {
  Block &body = *op.getBlock();
  unsigned numInputs = op.getNumDpsInputs();
  SmallVector<int64_t> positions;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    const Array &array =
        number < numInputs ? interpreter.get(operand.get()) : outputs[number - numInputs];
    FailureOr<int64_t> position = getPosition(op, operand, array, index);
    if (failed(position))
      return failure();
    positions.push_back(*position);
    // Some bodies, as of linalg.map, omit arguments for unused operands.
    if (BlockArgument argument = op.getMatchingBlockArgument(&operand))
      interpreter.set(argument, array.slice(*position, {}));
  }
  interpreter.iteration.assign(index.begin(), index.end());
  if (failed(interpreter.run(body)))
    return failure();
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    outputs[i].copyElement(positions[numInputs + i], interpreter.get(value), 0);
  return success();
}

LogicalResult bppsa::evaluateStructuredOp(Operation *operation, Interpreter &interpreter) {
  auto op = cast<linalg::LinalgOp>(operation);
  if (!op.hasPureTensorSemantics())
    return op.emitOpError("must be on tensors to be interpreted");
  FailureOr<SmallVector<int64_t>> sizes = getLoopSizes(op, interpreter);
  if (failed(sizes))
    return failure();
  std::vector<Array> outputs;
  for (Value init : op.getDpsInits())
    outputs.push_back(interpreter.get(init));
  bool ok = true;
  forEachElementIndex(*sizes, [&](ArrayRef<int64_t> index) {
    ok = ok && succeeded(runIteration(op, interpreter, index, outputs));
  });
  if (!ok)
    return failure();
  for (auto [result, array] : llvm::zip_equal(op->getResults(), outputs))
    interpreter.set(result, std::move(array));
  return success();
}

void bppsa::addLinalgEvaluators(EvaluatorTable &table) {
  table.add<linalg::IndexOp>([](linalg::IndexOp op, Interpreter &interpreter) {
    interpreter.set(op.getResult(), Array::makeIndex(interpreter.iteration[op.getDim()]));
    return success();
  });
}
