//===- Normalization.cpp - softmax and normalization layers ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/TensorMath.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace bppsa;

LogicalResult bppsa::importSoftmax(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &x = node.input(0);
  int64_t rank = x.getRank();
  if (rank == 0)
    return node.emitError() << "input 'input' has rank 0, accepted: at least 1";
  FailureOr<int64_t> axis = node.normalizeAxis(node.getInt("axis", node.opset < 13 ? 1 : -1), rank);
  if (failed(axis))
    return failure();
  // Before opset 13, the input is flattened to a matrix at the axis.
  SmallVector<int64_t> axes = {*axis};
  if (node.opset < 13)
    axes = llvm::to_vector(llvm::seq<int64_t>(*axis, rank));
  // Subtracting the maximum only changes the range of exp.
  Tensor shifted = combine<arith::SubFOp>(graph, x, graph.makeMaximum(x, axes));
  Tensor exponentials = apply<math::ExpOp>(graph, shifted);
  Tensor sum = graph.makeSum(exponentials, axes);
  if (node.getOp() == "Softmax")
    return node.setOutput(
        0, makeFormula(graph, {exponentials, sum},
                       [](const Formula &f, ValueRange in) { return f.divFinite(in[0], in[1]); }));
  return node.setOutput(0, combine<arith::SubFOp>(graph, shifted, apply<math::LogOp>(graph, sum)));
}

static FailureOr<SmallVector<int64_t>> getAxesFrom(Node &node) {
  int64_t rank = node.input(0).getRank();
  FailureOr<int64_t> axis = node.normalizeAxis(node.getInt("axis", -1), rank);
  if (failed(axis))
    return failure();
  return llvm::to_vector(llvm::seq<int64_t>(*axis, rank));
}

/// Requires that input `index` broadcasts to X; the reverse is an error.
static LogicalResult requireFits(Node &node, size_t index) {
  if (!node.hasInput(index))
    return success();
  const Tensor &x = node.input(0);
  FailureOr<SmallVector<Dim>> common = node.graph.broadcast(x.dims, node.input(index).dims);
  if (failed(common) || common->size() != x.dims.size() ||
      llvm::any_of(llvm::zip(*common, x.dims),
                   [](auto pair) { return std::get<0>(pair).size != std::get<1>(pair).size; }))
    return node.emitShapeError();
  return success();
}

static Tensor makeDeviation(GraphBuilder &graph, const Tensor &variance, double epsilon) {
  return makeFormula(graph, variance, [&](const Formula &f, ValueRange in) -> Value {
    return math::SqrtOp::create(f.b, f.loc, f.add(in[0], f.constant(epsilon)));
  });
}

static Tensor makeSquares(GraphBuilder &graph, const Tensor &x) {
  return combine<arith::MulFOp>(graph, x, x);
}

LogicalResult bppsa::importLayerNormalization(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &x = node.input(0);
  FailureOr<SmallVector<int64_t>> axes = getAxesFrom(node);
  if (failed(axes) || failed(requireFits(node, 1)) || failed(requireFits(node, 2)))
    return failure();
  FailureOr<Tensor> mean = makeMean(graph, x, *axes);
  if (failed(mean))
    return node.emitShapeError();
  Tensor centred = combine<arith::SubFOp>(graph, x, *mean);
  Tensor variance = *makeMean(graph, makeSquares(graph, centred), *axes);
  Tensor deviation = makeDeviation(graph, variance, node.getFloat("epsilon", 1e-5f));
  Tensor result = combine<arith::MulFOp>(graph, combine<arith::DivFOp>(graph, centred, deviation),
                                         node.input(1));
  if (node.hasInput(2))
    result = combine<arith::AddFOp>(graph, result, node.input(2));
  if (node.wantsOutput(1) && failed(node.setOutput(1, *mean)))
    return failure();
  if (node.wantsOutput(2)) {
    Tensor inverse = makeFormula(graph, deviation, [](const Formula &f, ValueRange in) {
      return f.div(f.constant(1), in[0]);
    });
    if (failed(node.setOutput(2, inverse)))
      return failure();
  }
  return node.setOutput(0, result);
}

LogicalResult bppsa::importRMSNormalization(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &x = node.input(0);
  FailureOr<SmallVector<int64_t>> axes = getAxesFrom(node);
  if (failed(axes) || failed(requireFits(node, 1)))
    return failure();
  FailureOr<Tensor> square = makeMean(graph, makeSquares(graph, x), *axes);
  if (failed(square))
    return node.emitShapeError();
  Tensor root = makeDeviation(graph, *square, node.getFloat("epsilon", 1e-5f));
  return node.setOutput(
      0, combine<arith::MulFOp>(graph, combine<arith::DivFOp>(graph, x, root), node.input(1)));
}

LogicalResult bppsa::importLpNormalization(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &x = node.input(0);
  FailureOr<int64_t> axis = node.normalizeAxis(node.getInt("axis", -1), x.getRank());
  if (failed(axis))
    return failure();
  Tensor norm = node.getInt("p", 2) == 2
                    ? makeNorm(graph, x, *axis)
                    : makeSumOf(graph, x, *axis,
                                [](const Formula &f, Value element) { return f.abs(element); });
  // A zero vector is mapped to zero.
  return node.setOutput(0, makeFormula(graph, {x, norm}, [](const Formula &f, ValueRange in) {
                          return f.div(in[0], f.select(f.isPositive(in[1]), in[1], f.constant(1)));
                        }));
}

static FailureOr<Tensor> makeStandard(GraphBuilder &graph, const Tensor &x, ArrayRef<int64_t> axes,
                                      double epsilon) {
  FailureOr<Tensor> mean = makeMean(graph, x, axes);
  if (failed(mean))
    return failure();
  Tensor centred = combine<arith::SubFOp>(graph, x, *mean);
  Tensor variance = *makeMean(graph, makeSquares(graph, centred), axes);
  return combine<arith::DivFOp>(graph, centred, makeDeviation(graph, variance, epsilon));
}

static Tensor scaleChannels(Node &node, const Tensor &x, const Tensor &scale, const Tensor &shift) {
  GraphBuilder &graph = node.graph;
  SmallVector<int64_t> others = llvm::to_vector(llvm::seq<int64_t>(1, x.getRank() - 1));
  return makeFormula(
      graph, {x, graph.makeUnsqueeze(scale, others), graph.makeUnsqueeze(shift, others)},
      [](const Formula &f, ValueRange in) { return f.add(f.mul(in[0], in[1]), in[2]); });
}

static LogicalResult requireVectors(Node &node, const Dim &size) {
  for (size_t index : {1, 2})
    if (node.input(index).getRank() != 1 ||
        failed(node.graph.unify(size, node.input(index).dims[0])))
      return node.emitShapeError();
  return success();
}

LogicalResult bppsa::importInstanceNormalization(Node &node) {
  const Tensor &x = node.input(0);
  if (x.getRank() < 3)
    return node.emitShapeError();
  if (failed(requireVectors(node, x.dims[1])))
    return failure();
  FailureOr<Tensor> standard =
      makeStandard(node.graph, x, llvm::to_vector(llvm::seq<int64_t>(2, x.getRank())),
                   node.getFloat("epsilon", 1e-5f));
  if (failed(standard))
    return node.emitShapeError();
  return node.setOutput(0, scaleChannels(node, *standard, node.input(1), node.input(2)));
}

LogicalResult bppsa::importGroupNormalization(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &x = node.input(0);
  if (x.getRank() < 3)
    return node.emitShapeError();
  int64_t groups = node.getInt("num_groups", 0);
  std::optional<int64_t> channels = getConstant(x.dims[1].size);
  if (!channels || groups < 1 || *channels % groups != 0)
    return node.emitError() << "attribute 'num_groups' is " << groups
                            << ", accepted: a divisor of the number of channels, "
                            << graph.describe(x.dims[1].size) << ", which must be fixed";
  // Before opset 21, scale and bias are given per group.
  bool ofGroups = node.opset < 21;
  if (failed(requireVectors(node, ofGroups ? graph.getDim(groups) : x.dims[1])))
    return failure();
  SmallVector<Dim> grouped = {x.dims[0], graph.getDim(groups), graph.getDim(*channels / groups)};
  grouped.append(x.dims.begin() + 2, x.dims.end());
  FailureOr<Tensor> standard = makeStandard(graph, graph.makeReshape(x, grouped),
                                            llvm::to_vector(llvm::seq<int64_t>(2, grouped.size())),
                                            node.getFloat("epsilon", 1e-5f));
  if (failed(standard))
    return node.emitShapeError();
  if (ofGroups)
    return node.setOutput(
        0, graph.makeReshape(scaleChannels(node, *standard, node.input(1), node.input(2)), x.dims));
  return node.setOutput(
      0, scaleChannels(node, graph.makeReshape(*standard, x.dims), node.input(1), node.input(2)));
}
