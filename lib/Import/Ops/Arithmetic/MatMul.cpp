//===- MatMul.cpp - MatMul and Gemm ---------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// An operand of a product without broadcast dimensions, and the iterators of the remaining
/// dimensions.
struct ProductOperand {
  Tensor tensor;
  SmallVector<AffineExpr> iterators;
};
} // namespace

static ProductOperand alignOperand(Node &node, const Tensor &operand, ArrayRef<Dim> batch,
                                   AffineExpr rows, AffineExpr columns) {
  int64_t numBatch = operand.getRank() - 2;
  SmallVector<int64_t> dropped;
  ProductOperand result;
  for (int64_t i = 0; i < numBatch; ++i) {
    int64_t position = batch.size() - numBatch + i;
    if (operand.dims[i].isOne() && !batch[position].isOne())
      dropped.push_back(i);
    else
      result.iterators.push_back(node.graph.builder.getAffineDimExpr(position));
  }
  result.tensor = node.graph.makeSqueeze(operand, dropped);
  result.iterators.append({rows, columns});
  return result;
}

static FailureOr<Tensor> makeMatMul(Node &node, const Tensor &a, const Tensor &b) {
  GraphBuilder &graph = node.graph;
  FailureOr<Dim> inner = graph.unify(a.dims.back(), b.dims[b.getRank() - 2]);
  if (failed(inner))
    return failure();
  FailureOr<SmallVector<Dim>> batch =
      graph.broadcast(ArrayRef(a.dims).drop_back(2), ArrayRef(b.dims).drop_back(2));
  if (failed(batch))
    return failure();
  unsigned numBatch = batch->size();
  auto iterator = [&](unsigned index) { return graph.builder.getAffineDimExpr(numBatch + index); };
  ProductOperand lhs = alignOperand(node, a, *batch, iterator(0), iterator(2));
  ProductOperand rhs = alignOperand(node, b, *batch, iterator(2), iterator(1));
  SmallVector<Dim> dims = *batch;
  dims.append({a.dims[a.getRank() - 2], b.dims.back()});
  MLIRContext *context = graph.getContext();
  AffineMap maps[] = {
      AffineMap::get(numBatch + 3, 0, lhs.iterators, context),
      AffineMap::get(numBatch + 3, 0, rhs.iterators, context),
      AffineMap::getMultiDimIdentityMap(numBatch + 3, context).getMajorSubMap(numBatch + 2)};
  return graph.makeContraction(lhs.tensor, rhs.tensor, dims, maps);
}

LogicalResult bppsa::importMatMul(Node &node) {
  GraphBuilder &graph = node.graph;
  Tensor a = node.input(0), b = node.input(1);
  bool isRow = a.getRank() == 1, isColumn = b.getRank() == 1;
  if (a.getRank() == 0 || b.getRank() == 0)
    return node.emitShapeError();
  // A vector operand is a matrix with one row or column, which is removed from the result.
  if (isRow)
    a = graph.makeUnsqueeze(a, 0);
  if (isColumn)
    b = graph.makeUnsqueeze(b, 1);
  FailureOr<Tensor> product = makeMatMul(node, a, b);
  if (failed(product))
    return node.setOutput(product);
  SmallVector<int64_t> dropped;
  if (isRow)
    dropped.push_back(product->getRank() - 2);
  if (isColumn)
    dropped.push_back(product->getRank() - 1);
  return node.setOutput(0, graph.makeSqueeze(*product, dropped));
}

static FailureOr<Tensor> scale(GraphBuilder &graph, const Tensor &tensor, float factor) {
  if (factor == 1)
    return tensor;
  return graph.makeElementwise(
      tensor, tensor.elementType, [&](OpBuilder &b, Location loc, ValueRange arguments) {
        Value constant = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(factor));
        return arith::MulFOp::create(b, loc, arguments[0], constant);
      });
}

LogicalResult bppsa::importGemm(Node &node) {
  GraphBuilder &graph = node.graph;
  if (failed(node.requireRank(0, 2)) || failed(node.requireRank(1, 2)))
    return failure();
  if (node.opset < 11 && !node.hasInput(2))
    return node.emitError() << "input 'C' is missing, which is accepted from opset 11 on";
  bool transA = node.getInt("transA", 0) != 0, transB = node.getInt("transB", 0) != 0;
  const Tensor &a = node.input(0), &b = node.input(1);
  FailureOr<Dim> inner = graph.unify(a.dims[transA ? 0 : 1], b.dims[transB ? 1 : 0]);
  if (failed(inner))
    return node.emitShapeError();
  AffineExpr row, column, sum;
  MLIRContext *context = graph.getContext();
  bindDims(context, row, column, sum);
  auto map = [&](AffineExpr first, AffineExpr second, bool isTransposed) {
    return isTransposed ? AffineMap::get(3, 0, {second, first}, context)
                        : AffineMap::get(3, 0, {first, second}, context);
  };
  AffineMap maps[] = {map(row, sum, transA), map(sum, column, transB), map(row, column, false)};
  FailureOr<Tensor> result =
      graph.makeContraction(a, b, {a.dims[transA ? 1 : 0], b.dims[transB ? 0 : 1]}, maps);
  result = scale(graph, *result, node.getFloat("alpha", 1));
  if (!node.hasInput(2))
    return node.setOutput(result);
  FailureOr<Tensor> addend = scale(graph, node.input(2), node.getFloat("beta", 1));
  if (addend->getRank() > 2)
    return node.emitShapeError();
  FailureOr<SmallVector<Dim>> dims = graph.broadcast(result->dims, addend->dims);
  // C must broadcast to the product; the reverse is an error.
  if (failed(dims) || (*dims)[0].size != result->dims[0].size ||
      (*dims)[1].size != result->dims[1].size)
    return node.emitShapeError();
  return node.setOutput(graph.makeElementwise(
      {*result, *addend}, result->elementType,
      [](OpBuilder &builder, Location loc, ValueRange arguments) {
        return arith::AddFOp::create(builder, loc, arguments[0], arguments[1]);
      }));
}
