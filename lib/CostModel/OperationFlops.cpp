//===- OperationFlops.cpp - FLOPs of an operation -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/OperationFlops.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace bppsa;

static ShapedType getShapedType(Value value) { return dyn_cast<ShapedType>(value.getType()); }

static Value getMade(Operation *op, OperandRange destinations) {
  return op->getNumResults() > 0 ? Value(op->getResult(0)) : destinations.front();
}

namespace {
class FlopCounter {
public:
  explicit FlopCounter(double unknown) : unknown(unknown) {}
  double count(Operation *op) const;

private:
  double countExtent(int64_t extent) const {
    return ShapedType::isDynamic(extent) ? unknown : static_cast<double>(extent);
  }
  double countElements(Value value) const;
  double countNest(linalg::LinalgOp op) const;
  double countBody(Block &body) const;
  double countIterations(Value sequence, bool isGraphForm) const;

  double unknown;
};
} // namespace

double FlopCounter::countElements(Value value) const {
  double elements = 1;
  for (int64_t extent : getShapedType(value).getShape())
    elements *= countExtent(extent);
  return elements;
}

double FlopCounter::countNest(linalg::LinalgOp op) const {
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

double FlopCounter::countBody(Block &body) const {
  double flops = 0;
  for (Operation &op : body)
    flops += count(&op);
  return flops;
}

double FlopCounter::countIterations(Value sequence, bool isGraphForm) const {
  ShapedType type = getShapedType(sequence);
  return countExtent(type.getDimSize(0)) * (isGraphForm ? 1 : countExtent(type.getDimSize(1)));
}

double FlopCounter::count(Operation *op) const {
  if (auto loop = dyn_cast<RecurrenceOp>(op))
    return countIterations(getMade(op, loop.getDestinations()), loop.isGraphForm()) *
           countBody(loop.getBody().front());
  if (auto chain = dyn_cast<ChainOp>(op))
    return countIterations(chain.getSaved().front(), chain.isGraphForm()) *
           countBody(chain.getBody().front());
  if (auto sum = dyn_cast<OuterSumOp>(op)) {
    Value left = sum.getLhs(), made = getMade(op, sum->getOperands().take_back());
    double vectors = countElements(left) / countExtent(getShapedType(left).getShape().back());
    return 2 * vectors * countElements(made);
  }
  if (isa<StepSumOp>(op))
    return countElements(op->getOperand(0));
  if (auto nest = dyn_cast<linalg::LinalgOp>(op))
    return countNest(nest);
  auto cell = dyn_cast<CellOpInterface>(op);
  return cell && isa<VectorType>(op->getResult(0).getType()) ? cell.countFlops() : 0;
}

double bppsa::countStepFlops(Operation *op, double unknown) {
  return FlopCounter(unknown).count(op);
}
