//===- RowEvaluator.cpp - evaluates single rows of a body -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RowEvaluator.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace bppsa;

SmallVector<Value> Place::getIndices(OpBuilder &builder, Location loc, Value row) const {
  SmallVector<Value> indices(prefix.begin(), prefix.end());
  Value last = addIndex(builder, loc, row, first);
  indices.push_back(start ? addIndex(builder, loc, start, last) : last);
  return indices;
}

Value Place::load(OpBuilder &builder, Location loc, Value row) const {
  return memref::LoadOp::create(builder, loc, memref, getIndices(builder, loc, row));
}

void Place::store(OpBuilder &builder, Location loc, Value value, Value row) const {
  memref::StoreOp::create(builder, loc, value, memref, getIndices(builder, loc, row));
}

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
  Value array = captures[matrix.getArgNumber() - firstCapture];
  if (product.getTransposed())
    std::swap(row, column);
  return memref::LoadOp::create(builder, loc, array, ValueRange{row, column});
}

Value RowEvaluator::getStoredRow(OpBuilder &builder, Location loc, Value value, const RowUnit &unit,
                                 Value row, RowValues &values) {
  if (auto insert = value.getDefiningOp<vector::InsertStridedSliceOp>())
    return emitInsertedRow(builder, loc, insert, row);
  return getRow(builder, loc, value, unit, row, values);
}

Value RowEvaluator::getRow(OpBuilder &builder, Location loc, Value value, const RowUnit &unit,
                           Value row, RowValues &values) {
  if (Value known = values.lookup(value))
    return known;
  Value result;
  Operation *op = value.getDefiningOp();
  if (plan.isCapture(value)) {
    result = capturedRows.lookup({value, unit.rows});
  } else if (plan.isLoadedAt(value, unit)) {
    result = loadRow(builder, loc, value, row);
  } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    result = emitConstantRow(builder, loc, constant, row);
  } else if (auto slice = dyn_cast<vector::ExtractStridedSliceOp>(op)) {
    int64_t offset = cast<IntegerAttr>(slice.getOffsets()[0]).getInt();
    result = loadOtherRow(builder, slice.getLoc(), slice.getSource(),
                          addIndex(builder, slice.getLoc(), row, offset));
  } else {
    result = cloneForRow(builder, op, [&](Value operand) {
      return getRow(builder, loc, operand, unit, row, values);
    });
  }
  values[value] = result;
  return result;
}

/// Row `row` of a vector with another one written over a part of it.
Value RowEvaluator::emitInsertedRow(OpBuilder &builder, Location loc,
                                    vector::InsertStridedSliceOp op, Value row) {
  int64_t offset = cast<IntegerAttr>(op.getOffsets()[0]).getInt();
  int64_t size = getNumRows(op.getValueToStore());
  Value shifted = arith::SubIOp::create(builder, loc, row, getIndex(builder, loc, offset));
  // Rows before the part wrap around to large numbers.
  Value isInside = isBelow(builder, loc, shifted, getIndex(builder, loc, size));
  Value at = arith::SelectOp::create(builder, loc, isInside, shifted, getIndex(builder, loc, 0));
  Value inserted = loadOtherRow(builder, loc, op.getValueToStore(), at);
  Value kept = loadRow(builder, loc, op.getDest(), row);
  return arith::SelectOp::create(builder, loc, isInside, inserted, kept);
}

Value bppsa::emitConstantRow(OpBuilder &builder, Location loc, arith::ConstantOp op, Value row) {
  auto dense = cast<DenseElementsAttr>(op.getValue());
  if (dense.isSplat())
    return arith::ConstantOp::create(builder, loc, dense.getSplatValue<TypedAttr>());
  Value all = arith::ConstantOp::create(builder, loc, dense);
  return vector::ExtractOp::create(builder, loc, all, OpFoldResult(row));
}

Value bppsa::cloneForRow(OpBuilder &builder, Operation *op, function_ref<Value(Value)> read) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (isa<VectorType>(operand.getType()))
      mapping.map(operand, read(operand));
  Operation *rowOp = op->clone(mapping);
  rowOp->getResult(0).setType(cast<VectorType>(op->getResult(0).getType()).getElementType());
  return builder.insert(rowOp)->getResult(0);
}
