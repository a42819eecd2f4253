//===- VectorEvaluators.cpp - evaluators of vector ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Reference/Interpreter.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace bppsa;

static LogicalResult evaluateBroadcast(vector::BroadcastOp op, Interpreter &interpreter) {
  const Array &source = interpreter.get(op.getSource());
  Array result = Array::makeZeros(op.getResultVectorType().getShape(), source.isFloat);
  forEachElementIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from(index.take_back(source.getRank()));
    for (auto [i, size] : llvm::zip_equal(from, source.shape))
      i = size == 1 ? 0 : i;
    result.copyElement(result.getPosition(index), source, source.getPosition(from));
  });
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

/// Returns the index in the large vector; offsets apply to leading dimensions.
static SmallVector<int64_t> getStridedIndex(ArrayRef<int64_t> index, ArrayAttr offsets,
                                            ArrayAttr strides) {
  SmallVector<int64_t> result(index);
  for (auto [i, offset] : llvm::enumerate(offsets.getAsRange<IntegerAttr>())) {
    int64_t stride = i < strides.size() ? cast<IntegerAttr>(strides[i]).getInt() : 1;
    result[i] = offset.getInt() + result[i] * stride;
  }
  return result;
}

static LogicalResult evaluateExtractStridedSlice(vector::ExtractStridedSliceOp op,
                                                 Interpreter &interpreter) {
  const Array &source = interpreter.get(op.getSource());
  Array result = Array::makeZeros(op.getType().getShape(), source.isFloat);
  forEachElementIndex(result.shape, [&](ArrayRef<int64_t> index) {
    int64_t from = source.getPosition(getStridedIndex(index, op.getOffsets(), op.getStrides()));
    result.copyElement(result.getPosition(index), source, from);
  });
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateInsertStridedSlice(vector::InsertStridedSliceOp op,
                                                Interpreter &interpreter) {
  const Array &source = interpreter.get(op.getValueToStore());
  Array result = interpreter.get(op.getDest());
  int64_t extraRank = result.getRank() - source.getRank();
  ArrayAttr noStrides = Builder(op.getContext()).getArrayAttr({});
  forEachElementIndex(source.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> to(extraRank, 0);
    llvm::append_range(to, index);
    to = getStridedIndex(to, op.getOffsets(), noStrides);
    result.copyElement(result.getPosition(to), source, source.getPosition(index));
  });
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateShapeCast(vector::ShapeCastOp op, Interpreter &interpreter) {
  Array result = interpreter.get(op.getSource());
  result.shape = getValueShape(op.getType());
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

void bppsa::addVectorEvaluators(EvaluatorTable &table) {
  table.add<vector::BroadcastOp>(evaluateBroadcast);
  table.add<vector::ExtractStridedSliceOp>(evaluateExtractStridedSlice);
  table.add<vector::InsertStridedSliceOp>(evaluateInsertStridedSlice);
  table.add<vector::ShapeCastOp>(evaluateShapeCast);
  table.addTernary<vector::FMAOp>([](double a, double b, double c) { return a * b + c; });
}
