//===- FlopCount.cpp - FLOPs of a training step ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "FlopCount.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bppsa;

static bool isArithmetic(Operation &op) {
  return op.getNumResults() == 1 && isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) &&
         !op.hasTrait<OpTrait::ConstantLike>();
}

static int64_t countOfTimeLoops(func::FuncOp step) {
  int64_t flops = 0;
  step.walk([&](Operation *op) {
    if (auto outer = dyn_cast<OuterSumOp>(op))
      flops += 2 * cast<ShapedType>(op->getResult(0).getType()).getNumElements();
    auto cell = dyn_cast<CellOpInterface>(op);
    if (cell && op->getParentOp() != step && isa<VectorType>(op->getResult(0).getType()))
      flops += cell.countFlops();
  });
  return flops;
}

/// Loops with a dynamic extent iterate over samples.
static int64_t countOfNest(linalg::LinalgOp op) {
  int64_t points = 1;
  bool hasSamples = false;
  for (int64_t extent : op.getStaticLoopRanges()) {
    hasSamples |= ShapedType::isDynamic(extent);
    points *= ShapedType::isDynamic(extent) ? 1 : extent;
  }
  auto isFloat = [](Operation &nested) {
    return isArithmetic(nested) && isa<FloatType>(nested.getResult(0).getType()) &&
           !isa<arith::SelectOp>(nested);
  };
  return hasSamples ? points * llvm::count_if(*op.getBlock(), isFloat) : 0;
}

static std::vector<int64_t> readIndices(Value indices) {
  DenseIntElementsAttr constant;
  std::vector<int64_t> numbers;
  if (indices && matchPattern(indices, m_Constant(&constant)))
    for (APInt number : constant.getValues<APInt>())
      numbers.push_back(number.getSExtValue());
  return numbers;
}

static int64_t countMultiplyAdds(jacobian::SparseComposeOp op) {
  std::vector<int64_t> starts = readIndices(op.getFirstStarts());
  std::vector<int64_t> columns = readIndices(op.getSecondColumns());
  auto countRow = [&](int64_t row) {
    return starts.empty() ? int64_t(op.getCols()) : starts[row + 1] - starts[row];
  };
  int64_t sum = 0;
  for (int64_t row : columns)
    sum += countRow(row);
  if (op.getSecondColumns())
    return sum;
  for (int64_t row = 0, inner = op.getInner(); row < inner; ++row)
    sum += op.getRows() * countRow(row);
  return sum;
}

static int64_t getNumElements(Value value) {
  return cast<ShapedType>(value.getType()).getNumElements();
}

static int64_t countOfGraphOp(Operation *op) {
  auto isShared = [](Value value) { return cast<ShapedType>(value.getType()).getRank() == 1; };
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([](linalg::LinalgOp nest) { return countOfNest(nest); })
      .Case([](jacobian::SparseApplyOp apply) {
        auto rows = cast<ShapedType>(apply.getResult().getType()).getDimSize(0);
        auto cols = cast<ShapedType>(apply.getCotangent().getType()).getDimSize(0);
        return 2 * (apply.getColumns() ? getNumElements(apply.getColumns()) : rows * cols);
      })
      .Case([&](jacobian::SparseComposeOp compose) {
        // A product of shared matrices is formed once for the batch.
        return isShared(compose.getResult()) ? int64_t(0) : 2 * countMultiplyAdds(compose);
      })
      .Case([](jacobian::SparseOuterSumOp sum) { return 2 * getNumElements(sum.getLhsRows()); })
      .Default([](Operation *) -> int64_t { return 0; });
}

int64_t bppsa::countFlopsPerPosition(func::FuncOp step) {
  auto isLoop = [](Operation *op) {
    return isa<RecurrenceOp, ChainOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
  };
  if (step.walk(isLoop).wasInterrupted())
    return countOfTimeLoops(step);
  int64_t flops = 0;
  step.walk([&](Operation *op) { flops += countOfGraphOp(op); });
  return flops;
}
