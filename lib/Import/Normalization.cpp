//===- Normalization.cpp - reductions and what is made of them ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "OpImporters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace bppsa;

/// An elementwise op of two operands whose shapes are known to fit.
template <typename OpTy>
static Tensor combine(GraphBuilder &graph, const Tensor &a, const Tensor &b) {
  return *graph.makeElementwise({a, b}, a.elementType,
                                [](OpBuilder &builder, Location loc, ValueRange arguments) {
                                  return OpTy::create(builder, loc, arguments[0], arguments[1]);
                                });
}

template <typename OpTy> static Tensor apply(GraphBuilder &graph, const Tensor &operand) {
  return *graph.makeElementwise(operand, operand.elementType,
                                [](OpBuilder &builder, Location loc, ValueRange arguments) {
                                  return OpTy::create(builder, loc, arguments[0]);
                                });
}

/// The sum over `axes` divided by the number of elements.
static FailureOr<Tensor> makeMean(GraphBuilder &graph, const Tensor &operand,
                                  ArrayRef<int64_t> axes) {
  SmallVector<AffineExpr> sizes =
      llvm::map_to_vector(axes, [&](int64_t axis) { return operand.dims[axis].size; });
  MaybeExpr count = multiplyAll(sizes, graph.getContext());
  if (!count)
    return failure();
  Tensor sum = graph.makeSum(operand, axes);
  std::optional<int64_t> constant = getConstant(*count);
  if (!constant)
    return combine<arith::DivFOp>(graph, sum, graph.makeSizeAsFloat(*count));
  return graph.makeElementwise(
      sum, sum.elementType, [&](OpBuilder &builder, Location loc, ValueRange arguments) {
        Value divisor = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(*constant));
        return arith::DivFOp::create(builder, loc, arguments[0], divisor);
      });
}

LogicalResult bppsa::importReduce(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &data = node.input(0);
  FailureOr<std::optional<SmallVector<int64_t>>> given = node.getList("axes", 1);
  if (failed(given))
    return failure();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, data.getRank()));
  if (*given && !(**given).empty()) {
    FailureOr<SmallVector<int64_t>> normalized = node.normalizeAxes(**given, data.getRank());
    if (failed(normalized))
      return failure();
    axes = *normalized;
  } else if (node.getInt("noop_with_empty_axes", 0) == 1) {
    return node.setOutput(0, data);
  }
  FailureOr<Tensor> result =
      node.getOp() == "ReduceSum" ? graph.makeSum(data, axes) : makeMean(graph, data, axes);
  if (failed(result))
    return node.emitShapeError();
  if (node.getInt("keepdims", 1) == 0)
    result = graph.makeSqueeze(*result, axes);
  return node.setOutput(0, *result);
}

LogicalResult bppsa::importSoftmax(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &x = node.input(0);
  int64_t rank = x.getRank();
  if (rank == 0)
    return node.emitError() << "input 'input' has rank 0, accepted: at least 1";
  FailureOr<int64_t> axis = node.normalizeAxis(node.getInt("axis", node.opset < 13 ? 1 : -1), rank);
  if (failed(axis))
    return failure();
  // Before opset 13 the input is seen as a matrix that is split at the axis.
  SmallVector<int64_t> axes = {*axis};
  if (node.opset < 13)
    axes = llvm::to_vector(llvm::seq<int64_t>(*axis, rank));
  // Shifted by the maximum, which changes nothing but the range of exp.
  Tensor shifted = combine<arith::SubFOp>(graph, x, graph.makeMaximum(x, axes));
  Tensor exponentials = apply<math::ExpOp>(graph, shifted);
  Tensor sum = graph.makeSum(exponentials, axes);
  if (node.getOp() == "Softmax")
    return node.setOutput(0, combine<arith::DivFOp>(graph, exponentials, sum));
  return node.setOutput(0, combine<arith::SubFOp>(graph, shifted, apply<math::LogOp>(graph, sum)));
}

LogicalResult bppsa::importLayerNormalization(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &x = node.input(0);
  FailureOr<int64_t> axis = node.normalizeAxis(node.getInt("axis", -1), x.getRank());
  if (failed(axis))
    return failure();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(*axis, x.getRank()));
  // Scale and B broadcast to X, not the other way round.
  for (size_t index : {1, 2}) {
    if (!node.hasInput(index))
      continue;
    FailureOr<SmallVector<Dim>> common = graph.broadcast(x.dims, node.input(index).dims);
    if (failed(common) || common->size() != x.dims.size() ||
        llvm::any_of(llvm::zip(*common, x.dims),
                     [](auto pair) { return std::get<0>(pair).size != std::get<1>(pair).size; }))
      return node.emitShapeError();
  }
  FailureOr<Tensor> mean = makeMean(graph, x, axes);
  if (failed(mean))
    return node.emitShapeError();
  Tensor centred = combine<arith::SubFOp>(graph, x, *mean);
  Tensor squares = combine<arith::MulFOp>(graph, centred, centred);
  Tensor variance = *makeMean(graph, squares, axes);
  float epsilon = node.getFloat("epsilon", 1e-5f);
  Tensor deviation = *graph.makeElementwise(
      variance, x.elementType, [&](OpBuilder &builder, Location loc, ValueRange arguments) {
        Value constant = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(epsilon));
        Value sum = arith::AddFOp::create(builder, loc, arguments[0], constant);
        return math::SqrtOp::create(builder, loc, sum);
      });
  Tensor result = combine<arith::MulFOp>(graph, combine<arith::DivFOp>(graph, centred, deviation),
                                         node.input(1));
  if (node.hasInput(2))
    result = combine<arith::AddFOp>(graph, result, node.input(2));
  if (node.wantsOutput(1) && failed(node.setOutput(1, *mean)))
    return failure();
  if (node.wantsOutput(2)) {
    Tensor inverse = *graph.makeElementwise(
        deviation, x.elementType, [](OpBuilder &builder, Location loc, ValueRange arguments) {
          Value one = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1));
          return arith::DivFOp::create(builder, loc, one, arguments[0]);
        });
    if (failed(node.setOutput(2, inverse)))
      return failure();
  }
  return node.setOutput(0, result);
}

LogicalResult bppsa::importGlobalAveragePool(Node &node) {
  const Tensor &x = node.input(0);
  if (x.getRank() < 3)
    return node.emitShapeError();
  return node.setOutput(
      makeMean(node.graph, x, llvm::to_vector(llvm::seq<int64_t>(2, x.getRank()))));
}

//===----------------------------------------------------------------------===//
// BatchNormalization
//===----------------------------------------------------------------------===//

/// `1 / sqrt(variance + epsilon)`.
static Tensor makeInverseDeviation(GraphBuilder &graph, const Tensor &variance, float epsilon) {
  return *graph.makeElementwise(
      variance, variance.elementType, [&](OpBuilder &b, Location loc, ValueRange arguments) {
        Value constant = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(epsilon));
        Value one = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1));
        Value sum = arith::AddFOp::create(b, loc, arguments[0], constant);
        return arith::DivFOp::create(b, loc, one, math::SqrtOp::create(b, loc, sum));
      });
}

/// `old * momentum + batch * (1 - momentum)`.
static Tensor makeRunning(GraphBuilder &graph, const Tensor &old, const Tensor &batch,
                          float momentum) {
  return *graph.makeElementwise(
      {old, batch}, old.elementType, [&](OpBuilder &b, Location loc, ValueRange arguments) {
        auto scale = [&](Value value, float factor) -> Value {
          Value constant = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(factor));
          return arith::MulFOp::create(b, loc, value, constant);
        };
        return arith::AddFOp::create(b, loc, scale(arguments[0], momentum),
                                     scale(arguments[1], 1 - momentum));
      });
}

/// The statistics of the batch, each of shape [1, C, 1, ...], in place of the
/// given ones; sets the running outputs.
static LogicalResult useBatchStatistics(Node &node, Tensor &mean, Tensor &variance) {
  GraphBuilder &graph = node.graph;
  const Tensor &x = node.input(0);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, x.getRank()));
  axes.erase(axes.begin() + 1);
  FailureOr<Tensor> ownMean = makeMean(graph, x, axes);
  if (failed(ownMean))
    return node.emitShapeError();
  Tensor centred = combine<arith::SubFOp>(graph, x, *ownMean);
  Tensor ownVariance = *makeMean(graph, combine<arith::MulFOp>(graph, centred, centred), axes);
  mean = *ownMean;
  variance = ownVariance;
  float momentum = node.getFloat("momentum", 0.9f);
  for (auto [index, batch] : {std::pair(1, mean), std::pair(2, variance)}) {
    Tensor running =
        makeRunning(graph, node.input(2 + index), graph.makeSqueeze(batch, axes), momentum);
    if (failed(node.setOutput(index, running)))
      return failure();
  }
  return success();
}

LogicalResult bppsa::importBatchNormalization(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &x = node.input(0);
  if (x.getRank() < 2)
    return node.emitShapeError();
  for (size_t index = 1; index <= 4; ++index)
    if (node.input(index).getRank() != 1 ||
        failed(graph.unify(x.dims[1], node.input(index).dims[0])))
      return node.emitShapeError();
  // The running statistics are what the model has seen, not what it learns.
  node.freeze(3);
  node.freeze(4);
  bool isTraining = node.getInt("training_mode", 0) == 1;
  for (size_t index = 1; index <= 4; ++index)
    if (node.wantsOutput(index) && !isTraining)
      return node.emitError() << "output " << quoted(node.proto.output(index))
                              << " is used, accepted: only 'Y' unless training_mode is 1";
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, x.getRank()));
  axes.erase(axes.begin() + 1);
  auto spread = [&](size_t index) { return graph.makeUnsqueeze(node.input(index), axes); };
  Tensor mean = spread(3), variance = spread(4);
  if (isTraining && failed(useBatchStatistics(node, mean, variance)))
    return failure();
  Tensor inverse = makeInverseDeviation(graph, variance, node.getFloat("epsilon", 1e-5f));
  Tensor factor = combine<arith::MulFOp>(graph, spread(1), inverse);
  return node.setOutput(graph.makeElementwise(
      {x, mean, factor, spread(2)}, x.elementType,
      [](OpBuilder &b, Location loc, ValueRange arguments) {
        Value centred = arith::SubFOp::create(b, loc, arguments[0], arguments[1]);
        Value scaled = arith::MulFOp::create(b, loc, centred, arguments[2]);
        return arith::AddFOp::create(b, loc, scaled, arguments[3]);
      }));
}
