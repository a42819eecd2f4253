//===- HoistInputProducts.cpp - hoist input projections -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Computes input projections with large matrices for all steps before the recurrence, whose
// registers then hold only recurrent matrices.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/Machines/DeviceShapes.h"
#include "bppsa/Dialect/BGPU/Transforms/Mapping/Passes.h"
#include "bppsa/Dialect/BPPSA/Analysis/BodyPlan.h"
#include "bppsa/Dialect/BPPSA/Utils/BodyRewrites.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

namespace bppsa {
#define GEN_PASS_DEF_HOISTINPUTPRODUCTS
#include "bppsa/Dialect/BGPU/Transforms/Mapping/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
class InputProducts {
public:
  explicit InputProducts(RecurrenceOp op) : op(op), loc(op.getLoc()), builder(op) {}

  /// Fails with a diagnostic if the body has no row-wise evaluation.
  FailureOr<bool> areLarge();
  void hoist();

private:
  bool isProductOfInput(MatVecOp product);
  bool isCapture(Value value);
  Value getCapture(Value argument);
  /// Addends of a product: a captured vector, and a value that differs between steps; null if
  /// absent.
  struct Addends {
    Value bias, rest;
  };
  Addends getAddends(MatVecOp product);
  void allocateResults();
  void buildProducts(RecurrenceOp loop);
  RecurrenceOp buildRest();

  RecurrenceOp op;
  Location loc;
  OpBuilder builder;
  SmallVector<MatVecOp> products;
  /// Shape `[step, sample, row]`.
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
  return cost::shouldHoistInputs(rows, inputs, others);
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

RecurrenceOp InputProducts::buildRest() {
  SmallVector<Value> sequences(op.getSequences());
  unsigned numOld = sequences.size();
  llvm::append_range(sequences, results);
  auto rest = RecurrenceOp::create(builder, loc, TypeRange(), TypeRange(), sequences,
                                   op.getInitial(), op.getCaptures(), getOptions(op));
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

void InputProducts::hoist() {
  allocateResults();
  SmallVector<Value> sequences, captures;
  for (MatVecOp product : products)
    sequences.push_back(op.getSequences()[cast<BlockArgument>(product.getVector()).getArgNumber()]);
  for (MatVecOp product : products)
    captures.push_back(getCapture(product.getMatrix()));
  for (MatVecOp product : products)
    if (Value bias = getAddends(product).bias)
      captures.push_back(getCapture(bias));
  LoopOptions options;
  options.writeTo(results);
  auto loop = RecurrenceOp::create(builder, loc, TypeRange(), TypeRange(), sequences, ValueRange(),
                                   captures, options);
  buildProducts(loop);
  RecurrenceOp rest = buildRest();
  fuseProductSums(loop.getBody().front());
  fuseProductSums(rest.getBody().front());
  for (Value result : results)
    memref::DeallocOp::create(builder, loc, result);
  op.erase();
}

namespace {
struct HoistInputProducts : public bppsa::impl::HoistInputProductsBase<HoistInputProducts> {
  void runOnOperation() override {
    SmallVector<RecurrenceOp> loops;
    getOperation().walk([&](RecurrenceOp loop) { loops.push_back(loop); });
    for (RecurrenceOp loop : loops) {
      if (loop.isGraphForm() || loop.getLanes() || loop.getNumResults() != 0)
        continue;
      fuseProductSums(loop.getBody().front());
      InputProducts inputs(loop);
      FailureOr<bool> areLarge = inputs.areLarge();
      if (failed(areLarge))
        return signalPassFailure();
      if (*areLarge)
        inputs.hoist();
    }
  }
};
} // namespace
