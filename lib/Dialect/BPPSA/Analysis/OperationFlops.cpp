//===- OperationFlops.cpp - the work of an operation ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/OperationFlops.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace bppsa;

static double countExtent(int64_t extent) { return ShapedType::isDynamic(extent) ? 1 : extent; }

static ShapedType getShapedType(Value value) { return dyn_cast<ShapedType>(value.getType()); }

static double countElements(Value value) {
  double elements = 1;
  for (int64_t extent : getShapedType(value).getShape())
    elements *= countExtent(extent);
  return elements;
}

static double countNest(linalg::LinalgOp op) {
  double points = 1;
  for (int64_t extent : op.getStaticLoopRanges())
    points *= countExtent(extent);
  auto isFloatArithmetic = [](Operation &nested) {
    return isa<arith::ArithDialect, math::MathDialect>(nested.getDialect()) &&
           !nested.hasTrait<OpTrait::ConstantLike>() && nested.getNumResults() == 1 &&
           isa<FloatType>(nested.getResult(0).getType()) && !isa<arith::SelectOp>(nested);
  };
  return points * llvm::count_if(*op.getBlock(), isFloatArithmetic);
}

static double countBody(Block &body) {
  double flops = 0;
  for (Operation &op : body)
    flops += countStepFlops(&op);
  return flops;
}

/// Steps, times samples where the body is that of one sample.
static double countIterations(Value sequence, bool isGraphForm) {
  ShapedType type = getShapedType(sequence);
  return countExtent(type.getDimSize(0)) * (isGraphForm ? 1 : countExtent(type.getDimSize(1)));
}

double bppsa::countStepFlops(Operation *op) {
  if (auto loop = dyn_cast<RecurrenceOp>(op))
    return countIterations(op->getResult(0), loop.isGraphForm()) *
           countBody(loop.getBody().front());
  if (auto chain = dyn_cast<ChainOp>(op))
    return countIterations(chain.getSaved().front(), chain.isGraphForm()) *
           countBody(chain.getBody().front());
  if (isa<OuterSumOp>(op)) {
    // A product of two vectors for each step and sample.
    Value left = op->getOperand(0);
    double vectors = countElements(left) / countExtent(getShapedType(left).getShape().back());
    return 2 * vectors * countElements(op->getResult(0));
  }
  if (isa<StepSumOp>(op))
    return countElements(op->getOperand(0));
  if (auto nest = dyn_cast<linalg::LinalgOp>(op))
    return countNest(nest);
  auto cell = dyn_cast<CellOpInterface>(op);
  return cell && isa<VectorType>(op->getResult(0).getType()) ? cell.countFlops() : 0;
}
