//===- LaunchInputs.cpp - recurrences without products of inputs ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Products of what a recurrence reads wait for none of its steps. Where their matrices
// are large, a loop without states computes them for all steps, and the recurrence
// reads the results: a step then waits for nothing but its states, and the registers
// of its threads are for the matrices that multiply these.
//
//===----------------------------------------------------------------------===//

#include "../Bodies/BodyPlan.h"
#include "BPPSAToGPU.h"
#include "Launch.h"

using namespace mlir;
using namespace bppsa;

namespace {
class InputProducts {
public:
  InputProducts(RecurrenceOp op, TensorPrecision precision)
      : op(op), precision(precision), loc(op.getLoc()), builder(op) {}

  /// Whether the products should be taken out. Fails, after a diagnostic, where the body
  /// has no row-wise evaluation.
  FailureOr<bool> areLarge();
  LogicalResult launch();

private:
  bool isProductOfInput(MatVecOp product);
  bool isCapture(Value value);
  Value getCapture(Value argument);
  /// What a product adds: what is the same in all steps, and what is not. Null where there is none.
  struct Addends {
    Value bias, rest;
  };
  Addends getAddends(MatVecOp product);
  void allocateResults();
  void buildProducts(RecurrenceOp loop);
  RecurrenceOp buildRest();

  RecurrenceOp op;
  TensorPrecision precision;
  Location loc;
  OpBuilder builder;
  SmallVector<MatVecOp> products;
  /// Their values `[step, sample, row]`.
  SmallVector<Value> results;
};
} // namespace

bool InputProducts::isProductOfInput(MatVecOp product) {
  auto vector = dyn_cast<BlockArgument>(product.getVector());
  return vector && vector.getArgNumber() < op.getSequences().size() &&
         isa<BlockArgument>(product.getMatrix());
}

FailureOr<bool> InputProducts::areLarge() {
  Block &body = op.getBody().front();
  if (op.getInitial().empty())
    return false;
  FailureOr<BodyPlan> plan = BodyPlan::create(body, op.getCaptures().size());
  if (failed(plan))
    return failure();
  int64_t rows = 1;
  std::vector<int64_t> inputs, others;
  for (const RowUnit &unit : plan->getUnits())
    rows = std::max(rows, unit.rows);
  for (auto product : body.getOps<MatVecOp>()) {
    bool isOfInput = isProductOfInput(product);
    (isOfInput ? inputs : others).push_back(getNumRows(product.getVector()));
    if (isOfInput)
      products.push_back(product);
  }
  return cost::takesOutInputs(rows, inputs, others);
}

bool InputProducts::isCapture(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getArgNumber() >= op.getSequences().size() + op.getInitial().size();
}

Value InputProducts::getCapture(Value argument) {
  unsigned firstCapture = op.getSequences().size() + op.getInitial().size();
  return op.getCaptures()[cast<BlockArgument>(argument).getArgNumber() - firstCapture];
}

InputProducts::Addends InputProducts::getAddends(MatVecOp product) {
  Value addend = product.getAddend();
  if (!addend || isCapture(addend))
    return {addend, Value()};
  if (auto sum = addend.getDefiningOp<arith::AddFOp>())
    for (int i : {0, 1})
      if (isCapture(sum->getOperand(i)))
        return {sum->getOperand(i), sum->getOperand(1 - i)};
  return {Value(), addend};
}

void InputProducts::allocateResults() {
  Value first = op.getSequences()[0];
  SmallVector<Value> sizes = {getDim(builder, loc, first, 0), getDim(builder, loc, first, 1)};
  for (MatVecOp product : products) {
    auto type = MemRefType::get(
        {ShapedType::kDynamic, ShapedType::kDynamic, getNumRows(product.getResult())},
        builder.getF32Type());
    results.push_back(
        memref::AllocOp::create(builder, loc, type, sizes, builder.getI64IntegerAttr(64)));
  }
}

/// The body of the loop that has the products of all steps.
void InputProducts::buildProducts(RecurrenceOp loop) {
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&loop.getBody());
  SmallVector<Value> values;
  auto addArgument = [&](Value value) {
    return body->addArgument(value.getType(), value.getLoc());
  };
  SmallVector<Value> vectors, matrices, biases;
  for (MatVecOp product : products)
    vectors.push_back(addArgument(product.getVector()));
  for (MatVecOp product : products)
    matrices.push_back(addArgument(product.getMatrix()));
  for (MatVecOp product : products) {
    Value bias = getAddends(product).bias;
    biases.push_back(bias ? addArgument(bias) : Value());
  }
  for (auto [product, vector, matrix, bias] : llvm::zip_equal(products, vectors, matrices, biases))
    values.push_back(MatVecOp::create(builder, product.getLoc(), product.getType(), matrix, vector,
                                      bias, product.getTransposed()));
  YieldOp::create(builder, loc, values);
}

/// The recurrence that reads the results of the products, and no sequence that they alone need.
RecurrenceOp InputProducts::buildRest() {
  SmallVector<Value> sequences(op.getSequences());
  unsigned numOld = sequences.size();
  llvm::append_range(sequences, results);
  auto rest = RecurrenceOp::create(builder, loc, TypeRange(), TypeRange(), sequences,
                                   op.getInitial(), op.getCaptures(), /*steps=*/Value(),
                                   op.getDestinations(), op.getReverse(), /*lanes=*/IntegerAttr());
  IRMapping mapping;
  op.getBody().cloneInto(&rest.getBody(), mapping);
  Block &body = rest.getBody().front();
  for (auto [i, product] : llvm::enumerate(products)) {
    auto inside = cast<MatVecOp>(mapping.lookup(product.getOperation()));
    Value value = body.insertArgument(numOld + i, product.getType(), product.getLoc());
    OpBuilder before(inside);
    if (Value rest = getAddends(product).rest)
      value = arith::AddFOp::create(before, product.getLoc(), value, mapping.lookup(rest));
    inside.getResult().replaceAllUsesWith(value);
    inside.erase();
  }
  for (unsigned i = numOld; i-- > 0;)
    if (body.getArgument(i).use_empty()) {
      body.eraseArgument(i);
      rest.getSequencesMutable().erase(i);
    }
  return rest;
}

LogicalResult InputProducts::launch() {
  allocateResults();
  SmallVector<Value> sequences, captures;
  for (MatVecOp product : products)
    sequences.push_back(op.getSequences()[cast<BlockArgument>(product.getVector()).getArgNumber()]);
  for (MatVecOp product : products)
    captures.push_back(getCapture(product.getMatrix()));
  for (MatVecOp product : products)
    if (Value bias = getAddends(product).bias)
      captures.push_back(getCapture(bias));
  auto loop = RecurrenceOp::create(builder, loc, TypeRange(), TypeRange(), sequences, ValueRange(),
                                   captures, /*steps=*/Value(), results, /*reverse=*/false,
                                   /*lanes=*/IntegerAttr());
  buildProducts(loop);
  RecurrenceOp rest = buildRest();
  LogicalResult isLaunched = success(succeeded(launchRecurrence(loop, precision)) &&
                                     succeeded(launchRecurrence(rest, precision)));
  loop.erase();
  rest.erase();
  for (Value result : results)
    memref::DeallocOp::create(builder, loc, result);
  return isLaunched;
}

FailureOr<bool> bppsa::launchWithoutInputs(RecurrenceOp op, TensorPrecision precision) {
  InputProducts inputs(op, precision);
  FailureOr<bool> areLarge = inputs.areLarge();
  if (failed(areLarge) || !*areLarge)
    return areLarge;
  if (failed(inputs.launch()))
    return failure();
  return true;
}
