//===- Interpreter.cpp - float64 reference semantics ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Reference/Interpreter.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace bppsa;

EvaluatorTable::EvaluatorTable(MLIRContext *context) : context(context) {
  addArithEvaluators(*this);
  addMathEvaluators(*this);
  addControlFlowEvaluators(*this);
  addLinalgEvaluators(*this);
  addTensorEvaluators(*this);
  addVectorEvaluators(*this);
  addBPPSAEvaluators(*this);
  addLoopEvaluators(*this);
  addSumEvaluators(*this);
  addLayoutEvaluators(*this);
  addJacobianEvaluators(*this);
}

const EvaluatorTable::Evaluator *EvaluatorTable::lookup(Operation *op) const {
  static const Evaluator structured = evaluateStructuredOp;
  static const Evaluator elementwise = evaluateCellOp;
  auto found = evaluators.find(op->getName());
  if (found != evaluators.end())
    return &found->second;
  if (isa<CellOpInterface>(op))
    return &elementwise;
  return isa<linalg::LinalgOp>(op) ? &structured : nullptr;
}

int64_t bppsa::wrapInteger(int64_t value, Type type) {
  auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(type));
  if (!integer || integer.getWidth() >= 64)
    return value;
  APInt bits(64, static_cast<uint64_t>(value));
  bits = bits.trunc(integer.getWidth());
  return integer.getWidth() == 1 ? static_cast<int64_t>(bits.getZExtValue()) : bits.getSExtValue();
}

static LogicalResult checkOperandSizes(Operation *op, Interpreter &interpreter) {
  for (Value operand : op->getOperands())
    if (interpreter.get(operand).shape != interpreter.get(op->getOperand(0)).shape)
      return op->emitOpError("needs operands of one shape, found different ones");
  return success();
}

LogicalResult EvaluatorTable::evaluateReals(Operation *op, Interpreter &interpreter,
                                            function_ref<double(const double *)> function) {
  if (failed(checkOperandSizes(op, interpreter)))
    return failure();
  Array result = Array::makeZeros(interpreter.get(op->getOperand(0)).shape);
  SmallVector<double, 3> element(op->getNumOperands());
  for (int64_t i = 0, count = result.getNumElements(); i < count; ++i) {
    for (auto [k, operand] : llvm::enumerate(op->getOperands()))
      element[k] = interpreter.get(operand).reals[i];
    result.reals[i] = function(element.data());
  }
  interpreter.set(op->getResult(0), std::move(result));
  return success();
}

LogicalResult EvaluatorTable::evaluateCellOp(Operation *op, Interpreter &interpreter) {
  auto cell = cast<CellOpInterface>(op);
  SmallVector<double> ones(op->getNumOperands(), 1);
  if (!cell.evaluate(ones))
    return op->emitOpError("is not known to the reference interpreter");
  return evaluateReals(op, interpreter, [&](const double *x) {
    return *cell.evaluate(ArrayRef(x, op->getNumOperands()));
  });
}

LogicalResult EvaluatorTable::evaluateIntegers(Operation *op, Interpreter &interpreter,
                                               function_ref<int64_t(int64_t, int64_t)> function) {
  if (failed(checkOperandSizes(op, interpreter)))
    return failure();
  const Array &lhs = interpreter.get(op->getOperand(0));
  const Array &rhs = interpreter.get(op->getOperand(1));
  Array result = Array::makeZeros(lhs.shape, /*isFloat=*/false);
  for (int64_t i = 0, count = result.getNumElements(); i < count; ++i)
    result.integers[i] =
        wrapInteger(function(lhs.integers[i], rhs.integers[i]), op->getResult(0).getType());
  interpreter.set(op->getResult(0), std::move(result));
  return success();
}

Interpreter::Interpreter(ModuleOp module) : module(module), table(module.getContext()) {}

const Array &Interpreter::get(Value value) const {
  auto found = values.find(value.getAsOpaquePointer());
  assert(found != values.end() && "value was not set");
  return found->second;
}

SmallVector<int64_t> Interpreter::getIntegers(ArrayRef<OpFoldResult> mixed) const {
  SmallVector<int64_t> integers;
  for (OpFoldResult entry : mixed) {
    std::optional<int64_t> constant = getConstantIntValue(entry);
    integers.push_back(constant ? *constant : getInteger(cast<Value>(entry)));
  }
  return integers;
}

void Interpreter::set(Value value, Array array) {
  values[value.getAsOpaquePointer()] = std::move(array);
}

void Interpreter::copy(ValueRange from, ValueRange to) {
  std::vector<Array> arrays;
  for (Value value : from)
    arrays.push_back(get(value));
  for (auto [value, array] : llvm::zip_equal(to, arrays))
    set(value, std::move(array));
}

static bool fits(const Array &array, Type type) {
  SmallVector<int64_t, 4> expected = getValueShape(type);
  if (array.isFloat != isFloatValue(type) ||
      array.getRank() != static_cast<int64_t>(expected.size()))
    return false;
  for (auto [found, size] : llvm::zip_equal(array.shape, expected))
    if (!ShapedType::isDynamic(size) && found != size)
      return false;
  return true;
}

/// "2x3 float"
static std::string describe(const Array &array) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(array.shape, os, "x");
  os << (array.shape.empty() ? "a scalar " : " ") << (array.isFloat ? "float" : "integer");
  return text;
}

LogicalResult Interpreter::run(Operation *op) {
  const EvaluatorTable::Evaluator *evaluator = table.lookup(op);
  if (!evaluator)
    return op->emitOpError("is not known to the reference interpreter");
  if (failed((*evaluator)(op, *this)))
    return failure();
  for (OpResult result : op->getResults())
    if (!fits(get(result), result.getType()))
      return op->emitOpError() << "result " << result.getResultNumber() << " has type "
                               << result.getType() << ", found " << describe(get(result));
  return success();
}

LogicalResult Interpreter::run(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(run(&op)))
      return failure();
  return success();
}

FailureOr<std::vector<Array>> Interpreter::call(StringRef name, std::vector<Array> arguments) {
  auto function = module.lookupSymbol<FunctionOpInterface>(name);
  if (!function || function.isExternal())
    return module.emitError() << "has no function '" << name << "' with a body", failure();
  if (arguments.size() != function.getNumArguments())
    return function.emitOpError() << "takes " << function.getNumArguments() << " arguments, found "
                                  << arguments.size(),
           failure();
  if (!function.getFunctionBody().hasOneBlock())
    return function.emitOpError("must have one block to be interpreted; use scf for control flow"),
           failure();
  for (auto [argument, array] : llvm::zip_equal(function.getArguments(), arguments)) {
    if (!fits(array, argument.getType()))
      return function.emitOpError() << "argument " << argument.getArgNumber() << " has type "
                                    << argument.getType() << ", found " << describe(array),
             failure();
    set(argument, std::move(array));
  }
  Block &body = function.getFunctionBody().front();
  if (failed(run(body)))
    return failure();
  std::vector<Array> results;
  for (Value result : body.getTerminator()->getOperands())
    results.push_back(get(result));
  return results;
}
