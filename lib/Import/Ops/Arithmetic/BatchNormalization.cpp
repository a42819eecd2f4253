//===- BatchNormalization.cpp - statistics of a batch, or given ones ------===//
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
  // A body may be imported several times.
  std::vector<std::string> &batchStatistics = node.importer.batchStatistics;
  if (StringRef name = getNodeName(node.proto);
      isTraining && !llvm::is_contained(batchStatistics, name))
    batchStatistics.push_back(name.str());
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
