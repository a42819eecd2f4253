//===- TensorScatter.cpp - updates of a cache along one axis --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/IndexBounds.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "IndexOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

static LogicalResult checkShapes(Node &node, int64_t axis) {
  GraphBuilder &graph = node.graph;
  const Tensor &cache = node.input(0), &update = node.input(1);
  if (update.getRank() != cache.getRank())
    return node.emitShapeError();
  for (int64_t i = 0; i < cache.getRank(); ++i)
    if (i != axis ? failed(graph.unify(cache.dims[i], update.dims[i]))
                  : failed(graph.requireAtLeast(cache.dims[i].size, update.dims[i].size)))
      return node.emitShapeError();
  if (node.hasInput(2) &&
      (node.input(2).getRank() != 1 || failed(graph.unify(node.input(2).dims[0], cache.dims[0]))))
    return node.emitShapeError();
  return success();
}

static Tensor getFirstPositions(Node &node) {
  GraphBuilder &graph = node.graph;
  if (!node.hasInput(2))
    return graph.makeFilled(node.input(0).dims[0], graph.builder.getI64IntegerAttr(0));
  Tensor first = node.input(2);
  first.value = graph.getValue(first);
  first.elements.reset();
  return first;
}

static Value makeUpdateNumber(OpBuilder &b, Location loc, Value position, Value first, Value size,
                              bool isCircular) {
  Value start = arith::IndexCastOp::create(b, loc, b.getIndexType(), first);
  Value number = arith::SubIOp::create(b, loc, position, start);
  if (!isCircular)
    return number;
  // The remainder of a negative number is negative.
  Value rest = arith::RemSIOp::create(b, loc, number, size);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value isNegative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, rest, zero);
  return arith::SelectOp::create(b, loc, isNegative, arith::AddIOp::create(b, loc, rest, size),
                                 rest);
}

LogicalResult bppsa::importTensorScatter(Node &node) {
  GraphBuilder &graph = node.graph;
  if (failed(node.requireOneElementType({0, 1})))
    return failure();
  Tensor cache = node.input(0), update = node.input(1);
  FailureOr<int64_t> axis = node.normalizeAxis(node.getInt("axis", -2), cache.getRank());
  if (failed(axis))
    return failure();
  if (*axis == 0)
    return node.emitError() << "attribute 'axis' is the axis of samples, accepted: any other";
  if (failed(checkShapes(node, *axis)))
    return failure();
  bool isCircular = node.getString("mode", "linear") == "circular";
  graph.mark(cache.dims[*axis], Cut);
  graph.mark(update.dims[*axis], Cut);
  Tensor first = getFirstPositions(node);
  MaybeExpr last = subtractExprs(cache.dims[*axis].size, update.dims[*axis].size);
  MaybeExpr bound = last ? addExprs(*last, graph.getExpr(1)) : std::nullopt;
  if (node.hasInput(2) && !isCircular && bound)
    recordIndexBound(graph, first.value, *bound);
  cache.value = graph.getValue(cache);
  cache.elements.reset();
  Value source = graph.getValue(update);
  Value size = getSizeValue(graph, cache.dims[*axis]);
  Value count = getSizeValue(graph, update.dims[*axis]);
  AffineMap all = graph.builder.getMultiDimIdentityMap(cache.getRank());
  Tensor empty = graph.make(graph.makeEmpty(cache.dims, cache.elementType), cache.dims);
  return node.setOutput(
      0, graph.makeGeneric(
             {cache, first}, empty, {all, all.getMajorSubMap(1), all},
             [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
               SmallVector<Value> from;
               for (int64_t i = 0; i < cache.getRank(); ++i)
                 from.push_back(linalg::IndexOp::create(b, loc, i));
               Value number = makeUpdateNumber(b, loc, from[*axis], in[1], size, isCircular);
               Value zero = arith::ConstantIndexOp::create(b, loc, 0);
               Value one = arith::ConstantIndexOp::create(b, loc, 1);
               Value clamped =
                   arith::MinSIOp::create(b, loc, arith::MaxSIOp::create(b, loc, number, zero),
                                          arith::SubIOp::create(b, loc, count, one));
               Value isWritten =
                   arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, number, clamped);
               from[*axis] = clamped;
               Value written = tensor::ExtractOp::create(b, loc, source, from);
               return arith::SelectOp::create(b, loc, isWritten, written, in[0]);
             }));
}
