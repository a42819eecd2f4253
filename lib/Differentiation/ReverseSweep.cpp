//===- ReverseSweep.cpp - activity and the reverse sweep ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Rules/ElementwiseVJP.h"
#include "SliceSums.h"
#include "TensorBuilders.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace bppsa;

SmallVector<Value> bppsa::getDifferentiatedOperands(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  if (op->getNumRegions() != 0 && !op->hasTrait<OpTrait::IsIsolatedFromAbove>()) {
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    values.append(captured.begin(), captured.end());
  }
  return values;
}

void Activity::propagate(Block &block) {
  for (Operation &op : block) {
    // A value received from another rank depends on the parameters.
    if (isa<dist::ShardEnterOp>(op))
      add(op.getOperand(0));
    if (isa<StopGradientOp>(op) ||
        llvm::none_of(getDifferentiatedOperands(&op), [&](Value value) { return contains(value); }))
      continue;
    for (Value result : op.getResults())
      if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
        add(result);
  }
}

FailureOr<SmallVector<Value>> bppsa::applyRule(OpBuilder &builder, Operation *op,
                                               ValueRange resultCotangents, ArrayRef<bool> needed) {
  auto rule = dyn_cast<VJPOpInterface>(op);
  if (!rule)
    return refuseOp(op, "has no differentiation rule, and a gradient has to pass through it; "
                        "freeze the values that it depends on or use bppsa.stop_gradient");
  SmallVector<Value> cotangents(needed.size());
  if (failed(rule.buildVJP(builder, resultCotangents, needed, cotangents)))
    return failure();
  return cotangents;
}

ReverseSweep::ReverseSweep(OpBuilder &builder, const Activity &activity)
    : builder(builder), activity(activity), sliceSums(std::make_unique<SliceSums>()) {}

ReverseSweep::~ReverseSweep() = default;

bool ReverseSweep::addInPlace(Value fresh, Value sum) {
  if (auto product = fresh.getDefiningOp<MatVecOp>(); product && !product.getAddend()) {
    product.getAddendMutable().assign(sum);
    return true;
  }
  return sliceSums->insert(fresh, sum);
}

void ReverseSweep::add(Value value, Value cotangent, bool isFresh) {
  Value &sum = cotangents[value];
  Location loc = cotangent.getLoc();
  auto negated = isFresh ? cotangent.getDefiningOp<arith::NegFOp>() : arith::NegFOp();
  if (!sum || (isFresh && addInPlace(cotangent, sum)))
    sum = cotangent;
  else if (negated)
    sum = arith::SubFOp::create(builder, loc, sum, negated.getOperand());
  else if (isa<TensorType>(value.getType()))
    sum = createAdd(builder, loc, sum, cotangent);
  else
    sum = arith::AddFOp::create(builder, loc, sum, cotangent);
}

LogicalResult ReverseSweep::visit(Operation *op) {
  SmallVector<Value> resultCotangents;
  for (Value result : op->getResults())
    resultCotangents.push_back(lookup(result));
  if (llvm::none_of(resultCotangents, [](Value value) { return static_cast<bool>(value); }))
    return success();

  SmallVector<Value> operands = getDifferentiatedOperands(op);
  SmallVector<bool> needed =
      llvm::map_to_vector(operands, [&](Value value) { return activity.contains(value); });
  if (!llvm::is_contained(needed, true))
    return success();
  FailureOr<SmallVector<Value>> operandCotangents =
      applyRule(builder, op, resultCotangents, needed);
  if (failed(operandCotangents))
    return failure();
  llvm::SmallDenseMap<Value, unsigned, 4> counts;
  for (Value cotangent : *operandCotangents)
    ++counts[cotangent];
  for (auto [operand, cotangent] : llvm::zip_equal(operands, *operandCotangents))
    if (cotangent)
      add(operand, cotangent,
          !llvm::is_contained(resultCotangents, cotangent) && counts[cotangent] == 1);
  return success();
}

void bppsa::eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

void bppsa::registerVJPExternalModels(DialectRegistry &registry) {
  registerArithVJP(registry);
  registerBPPSAVJP(registry);
  registerDistVJP(registry);
  registerLinalgVJP(registry);
  registerMathVJP(registry);
  registerTensorVJP(registry);
  registerVectorVJP(registry);
}
