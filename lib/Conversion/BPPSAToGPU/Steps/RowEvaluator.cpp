//===- RowEvaluator.cpp - evaluates single rows of a body -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RowEvaluator.h"
#include "../../GPULaunches/RowProduct.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace bppsa;

RowEvaluator::RowEvaluator(BodyPlan plan, Block &body, ValueRange captures)
    : plan(std::move(plan)), body(&body), firstCapture(body.getNumArguments() - captures.size()),
      captures(captures) {}

/// Those of captured vectors, for the units of each number of rows: what no operation
/// reads in the end is not loaded.
void RowEvaluator::loadCapturedRows(OpBuilder &builder, Location loc, Value unitIndex) {
  capturedRows.clear();
  for (const RowUnit &unit : plan.getUnits())
    for (auto [argument, array] :
         llvm::zip_equal(body->getArguments().drop_front(firstCapture), captures)) {
      auto type = cast<VectorType>(argument.getType());
      Value &value = capturedRows[{argument, unit.rows}];
      if (type.getRank() != 1 || value)
        continue;
      int64_t last = std::min(unit.rows, type.getDimSize(0)) - 1;
      Value row = minIndex(builder, loc, unitIndex, getIndex(builder, loc, last));
      value = memref::LoadOp::create(builder, loc, array, row);
    }
}

Value RowEvaluator::loadMatrixEntry(OpBuilder &builder, Location loc, MatVecOp product, Value row,
                                    Value column) {
  auto matrix = cast<BlockArgument>(product.getMatrix());
  return bppsa::loadMatrixEntry(builder, loc, product,
                                captures[matrix.getArgNumber() - firstCapture], row, column);
}

Value RowEvaluator::getStoredRow(OpBuilder &builder, Location loc, Value value, const RowUnit &unit,
                                 Value row, RowValues &values) {
  if (value.getDefiningOp<vector::InsertStridedSliceOp>())
    return emitRow(builder, loc, value, unit, row, values);
  return getRow(builder, loc, value, unit, row, values);
}

Value RowEvaluator::emitRow(OpBuilder &builder, Location loc, Value value, const RowUnit &unit,
                            Value row, RowValues &values) {
  auto readSame = [&](Value operand) { return getRow(builder, loc, operand, unit, row, values); };
  auto readOther = [&](Value operand, Value other) {
    return loadOtherRow(builder, loc, operand, other);
  };
  return cast<CellOpInterface>(value.getDefiningOp())
      .emitRow(builder, getElementTypeOrSelf(value),
               {row, /*spansRows=*/false, readSame, readOther});
}

Value RowEvaluator::getRow(OpBuilder &builder, Location loc, Value value, const RowUnit &unit,
                           Value row, RowValues &values) {
  if (Value known = values.lookup(value))
    return known;
  Value result;
  if (plan.isCapture(value)) {
    result = capturedRows.lookup({value, unit.rows});
  } else if (plan.isLoadedAt(value, unit)) {
    result = loadRow(builder, loc, value, row);
  } else {
    result = emitRow(builder, loc, value, unit, row, values);
  }
  values[value] = result;
  return result;
}
