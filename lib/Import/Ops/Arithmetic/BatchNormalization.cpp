//===- BatchNormalization.cpp - BatchNormalization ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/TensorMath.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <array>
#include <utility>

using namespace mlir;
using namespace bppsa;

static Tensor makeInverseDeviation(GraphBuilder &graph, const Tensor &variance, float epsilon) {
  return *graph.makeElementwise(
      variance, variance.elementType, [&](OpBuilder &b, Location loc, ValueRange arguments) {
        Value constant = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(epsilon));
        Value one = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1));
        Value sum = arith::AddFOp::create(b, loc, arguments[0], constant);
        return arith::DivFOp::create(b, loc, one, math::SqrtOp::create(b, loc, sum));
      });
}

static Tensor makeRunning(GraphBuilder &graph, const Tensor &old, const Tensor &batch,
                          float momentum) {
  return makeFormula(graph, {old, batch}, [&](const Formula &f, ValueRange arguments) {
    return f.add(f.mul(arguments[0], f.constant(momentum)),
                 f.mul(arguments[1], f.constant(1 - momentum)));
  });
}

namespace {
using Statistics = std::array<Tensor, 2>;
} // namespace

static Tensor makeShared(GraphBuilder &graph, const Tensor &mean) {
  if (!graph.sharesStatistics)
    return mean;
  Value own = graph.getValue(mean);
  auto op = dist::RankMeanOp::create(graph.builder, graph.loc, own.getType(), own,
                                     /*destination=*/Value(), /*transposed=*/false);
  return graph.make(op.getResult(), mean.dims);
}

static FailureOr<Statistics> makeBatchStatistics(Node &node, ArrayRef<int64_t> axes) {
  GraphBuilder &graph = node.graph;
  const Tensor &x = node.input(0);
  FailureOr<Tensor> mean = makeMean(graph, x, axes);
  if (failed(mean))
    return node.emitShapeError();
  mean = makeShared(graph, *mean);
  Tensor centred = combine<arith::SubFOp>(graph, x, *mean);
  Tensor variance =
      makeShared(graph, *makeMean(graph, combine<arith::MulFOp>(graph, centred, centred), axes));
  return Statistics{graph.makeSqueeze(*mean, axes), graph.makeSqueeze(variance, axes)};
}

static NamedAttrList *findParameter(GraphBuilder &graph, const Tensor &tensor) {
  auto argument = dyn_cast<BlockArgument>(graph.getValue(tensor));
  if (!argument || !isa_and_nonnull<func::FuncOp>(argument.getOwner()->getParentOp()))
    return nullptr;
  NamedAttrList &attributes = graph.argumentAttributes[argument.getArgNumber()];
  return attrs::Parameter::in(attributes) ? &attributes : nullptr;
}

/// Returns batch statistics or, in inference, stored running statistics; sets the running outputs.
static FailureOr<Statistics> importTrainingMode(Node &node, ArrayRef<int64_t> axes) {
  GraphBuilder &graph = node.graph;
  float momentum = node.getFloat("momentum", 0.9f);
  NamedAttrList *stored[] = {findParameter(graph, node.input(3)),
                             findParameter(graph, node.input(4))};
  bool areStored = stored[0] && stored[1];
  if (areStored && stored[0] == stored[1])
    return node.emitError() << "input_mean and input_var are one initializer, "
                            << quoted(node.proto.input(3)) << ", and training updates them"
                            << graph.getUntieHint();
  if (graph.sharesStatistics && !areStored)
    return node.emitError()
           << "--sync-bn needs initializers that hold the running statistics, found "
              "other values of input_mean and input_var; make initializers of them";
  ++graph.numTrainingModes;
  // In inference with running statistics, samples do not depend on each other.
  bool marked = std::exchange(graph.recordsMixing, graph.recordsMixing && !areStored);
  FailureOr<Statistics> statistics = makeBatchStatistics(node, axes);
  graph.recordsMixing = marked;
  if (failed(statistics))
    return failure();
  std::vector<std::string> &names = node.importer.batchStatistics;
  if (StringRef name = getNodeName(node.proto); !areStored && !llvm::is_contained(names, name))
    names.push_back(name.str());
  for (size_t index : {0, 1}) {
    const Tensor &running = node.input(3 + index);
    Tensor &statistic = (*statistics)[index];
    Tensor next = statistic;
    if (areStored) {
      auto op = RunningStatisticOp::create(graph.builder, graph.loc, graph.getValue(statistic),
                                           graph.getValue(running),
                                           graph.builder.getF64FloatAttr(momentum));
      attrs::Statistic::set(*stored[index], UnitAttr::get(graph.getContext()));
      statistic = graph.make(op.getStatistic(), running.dims);
      next = graph.make(op.getNext(), running.dims);
    } else {
      next = makeRunning(graph, running, statistic, momentum);
    }
    if (failed(node.setOutput(1 + index, next)))
      return failure();
  }
  return statistics;
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
  // Running statistics are updated but not trained.
  for (size_t index : {3, 4})
    if (NamedAttrList *attributes = findParameter(graph, node.input(index)))
      attrs::Frozen::set(*attributes, UnitAttr::get(graph.getContext()));
    else
      node.freeze(index);
  bool isTraining = node.getInt("training_mode", 0) == 1;
  for (size_t index = 1; index <= 4; ++index)
    if (node.wantsOutput(index) && !isTraining)
      return node.emitError() << "output " << quoted(node.proto.output(index))
                              << " is used, accepted: only 'Y' unless training_mode is 1";
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, x.getRank()));
  axes.erase(axes.begin() + 1);
  FailureOr<Statistics> statistics = Statistics{node.input(3), node.input(4)};
  if (isTraining)
    statistics = importTrainingMode(node, axes);
  if (failed(statistics))
    return failure();
  auto spread = [&](const Tensor &tensor) { return graph.makeUnsqueeze(tensor, axes); };
  auto [mean, variance] = *statistics;
  Tensor inverse = makeInverseDeviation(graph, spread(variance), node.getFloat("epsilon", 1e-5f));
  Tensor factor = combine<arith::MulFOp>(graph, spread(node.input(1)), inverse);
  return node.setOutput(graph.makeElementwise(
      {x, spread(mean), factor, spread(node.input(2))}, x.elementType,
      [](OpBuilder &b, Location loc, ValueRange arguments) {
        Value centred = arith::SubFOp::create(b, loc, arguments[0], arguments[1]);
        Value scaled = arith::MulFOp::create(b, loc, centred, arguments[2]);
        return arith::AddFOp::create(b, loc, scaled, arguments[3]);
      }));
}
