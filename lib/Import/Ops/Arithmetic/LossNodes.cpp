//===- LossNodes.cpp - loss nodes of the graph ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/TensorMath.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "../Shapes/IndexOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// Builds the loss of log-probabilities `[N, C, d...]` for the classes `[N, d...]`.
class LossBuilder {
public:
  LossBuilder(Node &node, const Tensor &logProbabilities)
      : node(node), graph(node.graph), data(logProbabilities), target(node.input(1)) {}
  LogicalResult build();

private:
  LogicalResult checkShapes();
  Tensor pick(const Tensor &from);
  /// The weight is zero if the position is ignored, NaN if its class is invalid.
  Tensor makeWeights();
  Value isIgnored(OpBuilder &b, Location loc, Value label) const;

  Node &node;
  GraphBuilder &graph;
  Tensor data;
  Tensor target;
  SmallVector<Dim> dims;
};
} // namespace

LogicalResult LossBuilder::checkShapes() {
  int64_t rank = data.getRank();
  if (rank < 2)
    return node.emitError() << "input '" << node.proto.input(0) << "' has rank " << rank
                            << ", accepted: at least 2";
  if (failed(node.requireRank(1, rank - 1)))
    return failure();
  for (int64_t i = 0; i < rank; ++i) {
    if (i == 1)
      continue;
    FailureOr<Dim> dim = graph.unify(data.dims[i], target.dims[i == 0 ? 0 : i - 1]);
    if (failed(dim))
      return node.emitShapeError();
    dims.push_back(*dim);
  }
  if (node.hasInput(2) &&
      (node.input(2).getRank() != 1 || node.input(2).dims[0].size != data.dims[1].size))
    return node.emitError() << "input '" << node.proto.input(2) << "' has shape "
                            << node.describeShape(node.input(2)) << ", accepted: one weight for "
                            << "each of " << graph.describe(data.dims[1].size) << " classes";
  graph.mark(data.dims[1], Cut);
  target.value = graph.getValue(target);
  target.elements.reset();
  return success();
}

Value LossBuilder::isIgnored(OpBuilder &b, Location loc, Value label) const {
  if (!node.hasAttribute("ignore_index"))
    return arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
  Value ignored = arith::ConstantOp::create(
      b, loc, b.getIntegerAttr(label.getType(), node.getInt("ignore_index", 0)));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, label, ignored);
}

Tensor LossBuilder::pick(const Tensor &from) {
  Value size =
      getValueOrCreateConstantIndexOp(graph.builder, graph.loc, graph.getSize(data.dims[1].size));
  bool isVector = from.getRank() == 1;
  return makeLookup(graph, from, dims, target.value,
                    graph.builder.getMultiDimIdentityMap(dims.size()),
                    [&](OpBuilder &b, Location loc, ValueRange index, ValueRange in) {
                      Value position = makePosition(b, loc, in[0], size);
                      if (isVector)
                        return SmallVector<Value>{position};
                      SmallVector<Value> at(index);
                      at.insert(at.begin() + 1, position);
                      return at;
                    });
}

Tensor LossBuilder::makeWeights() {
  Value size =
      getValueOrCreateConstantIndexOp(graph.builder, graph.loc, graph.getSize(data.dims[1].size));
  SmallVector<Tensor> operands = {target};
  if (node.hasInput(2))
    operands.push_back(pick(node.input(2)));
  return *graph.makeElementwise(
      operands, graph.builder.getF32Type(), [&](OpBuilder &b, Location loc, ValueRange in) {
        Formula f{b, loc, b.getF32Type()};
        Value index = arith::IndexCastOp::create(b, loc, b.getIndexType(), in[0]);
        // As unsigned integers, negative classes are large.
        Value isClass = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, size);
        Value weight = in.size() > 2 ? in[1] : f.constant(1);
        weight = f.select(isClass, weight, f.constant(std::nan("")));
        return f.select(isIgnored(b, loc, in[0]), f.constant(0), weight);
      });
}

LogicalResult LossBuilder::build() {
  if (failed(checkShapes()))
    return failure();
  Tensor weights = makeWeights(), picked = pick(data);
  Tensor loss =
      *graph.makeElementwise({target, weights, picked}, graph.builder.getF32Type(),
                             [&](OpBuilder &b, Location loc, ValueRange in) {
                               Formula f{b, loc, b.getF32Type()};
                               Value term = f.mul(f.sub(f.constant(0), in[1]), in[2]);
                               return f.select(isIgnored(b, loc, in[0]), f.constant(0), term);
                             });
  StringRef reduction = node.getString("reduction", "mean");
  if (reduction == "none")
    return node.setOutput(0, loss);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
  Tensor total = graph.makeSum(loss, axes);
  if (reduction == "mean")
    total = combine<arith::DivFOp>(graph, total, graph.makeSum(weights, axes));
  return node.setOutput(0, graph.makeSqueeze(total, axes));
}

LogicalResult bppsa::importNegativeLogLikelihoodLoss(Node &node) {
  return LossBuilder(node, node.input(0)).build();
}

LogicalResult bppsa::importSoftmaxCrossEntropyLoss(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &scores = node.input(0);
  if (scores.getRank() < 2)
    return node.emitError() << "input 'scores' has rank " << scores.getRank()
                            << ", accepted: at least 2";
  // Subtracting the maximum only changes the range of exp.
  Tensor shifted = combine<arith::SubFOp>(graph, scores, graph.makeMaximum(scores, {1}));
  Tensor sum = graph.makeSum(apply<math::ExpOp>(graph, shifted), {1});
  Tensor logProbabilities = combine<arith::SubFOp>(graph, shifted, apply<math::LogOp>(graph, sum));
  if (failed(LossBuilder(node, logProbabilities).build()))
    return failure();
  return node.setOutput(1, logProbabilities);
}
