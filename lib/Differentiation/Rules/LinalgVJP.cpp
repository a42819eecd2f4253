//===- LinalgVJP.cpp - VJPs of linalg ops ---------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Reductions.h"
#include "../TensorBuilders.h"
#include "ElementwiseVJP.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace bppsa;

static LogicalResult verifyDifferentiable(linalg::LinalgOp op, const Reduction &reduction) {
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1)
    return refuseOp(op, "has a differentiation rule on tensors with one result only");
  AffineMap resultMap = op.getIndexingMapMatchingResult(op->getResult(0));
  if (!resultMap.isProjectedPermutation() && reduction.kind != ReductionKind::Sum)
    return refuseOp(op, "can be differentiated only if the indexing map of the result is a "
                        "projected permutation, or the reduction a sum");
  return success();
}

/// A loop is parallel if its dimension is a result of `map`; a window such as `2 * d1 + d3` has no
/// parallel loop.
static SmallVector<utils::IteratorType> getScatterIterators(AffineMap map) {
  SmallVector<utils::IteratorType> iterators(map.getNumDims(), utils::IteratorType::reduction);
  for (AffineExpr result : map.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(result))
      iterators[dim.getPosition()] = utils::IteratorType::parallel;
  return iterators;
}

/// Builds the cotangent of block argument `number` of `op` in one iteration; null if it is zero.
static LogicalResult buildCotangentBody(linalg::LinalgOp op, unsigned number,
                                        const Reduction &reduction, ValueRange seeds, Block &body,
                                        OpBuilder &builder, Value &cotangent) {
  Location loc = op.getLoc();
  Block *primal = op.getBlock();
  for (Value seed : seeds)
    body.addArgument(getElementTypeOrSelf(seed.getType()), loc);
  IRMapping mapping;
  for (BlockArgument argument : primal->getArguments())
    mapping.map(argument, body.addArgument(argument.getType(), loc));
  body.addArgument(primal->getArgument(number).getType(), loc);

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&body);
  SmallVector<Operation *> ops;
  for (Operation &nested : primal->without_terminator())
    ops.push_back(builder.clone(nested, mapping));
  Activity activity;
  activity.add(mapping.lookup(primal->getArgument(number)));
  activity.propagate(body);
  ReverseSweep sweep(builder, activity);
  Value contribution = mapping.lookupOrDefault(reduction.contribution);
  sweep.add(contribution,
            reduction.createCotangent(builder, loc, contribution,
                                      ValueRange(body.getArguments()).take_front(seeds.size())));
  for (Operation *nested : llvm::reverse(ops))
    if (failed(sweep.visit(nested)))
      return failure();
  cotangent = sweep.lookup(mapping.lookup(primal->getArgument(number)));
  return success();
}

/// Builds the cotangent of an operand: for each element, the sum over the iterations that read it.
static LogicalResult buildInputCotangent(linalg::LinalgOp op, OpOperand &operand,
                                         const Reduction &reduction, ValueRange seeds,
                                         OpBuilder &builder, Value &operandCotangent) {
  Location loc = op.getLoc();
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<Value> inputs = llvm::to_vector(seeds);
  SmallVector<AffineMap> maps(seeds.size(), op.getIndexingMapMatchingResult(op->getResult(0)));
  for (OpOperand &other : op->getOpOperands()) {
    inputs.push_back(other.get());
    maps.push_back(op.getMatchingIndexingMap(&other));
  }
  maps.push_back(map);
  SmallVector<utils::IteratorType> iterators = getScatterIterators(map);
  // Elements skipped by a window have a zero cotangent.
  bool isSum = !map.isProjectedPermutation() ||
               llvm::is_contained(iterators, utils::IteratorType::reduction);

  auto body = std::make_unique<Block>();
  Value cotangent;
  if (failed(buildCotangentBody(op, operand.getOperandNumber(), reduction, seeds, *body, builder,
                                cotangent)))
    return failure();
  if (!cotangent)
    return success();
  bool isUnchanged = cotangent == body->getArgument(0) && maps.front() == map &&
                     seeds.front().getType() == operand.get().getType();
  if (isUnchanged) {
    operandCotangent = seeds.front();
    return success();
  }
  finishBody(*body, cotangent, isSum ? Combine::Add : Combine::Replace, builder, inputs, maps);
  Value init = isSum ? createZerosLike(builder, loc, operand.get())
                     : createEmptyLike(builder, loc, operand.get());
  auto generic = linalg::GenericOp::create(builder, loc, TypeRange{operand.get().getType()}, inputs,
                                           ValueRange{init}, maps, iterators);
  generic.getRegion().push_back(body.release());
  operandCotangent = generic.getResult(0);
  return success();
}

static Value extractEntry(linalg::LinalgOp op, OpOperand &operand, ValueRange ivs,
                          OpBuilder &builder) {
  if (!isa<TensorType>(operand.get().getType()))
    return operand.get();
  SmallVector<Value> indices;
  for (AffineExpr result : op.getMatchingIndexingMap(&operand).getResults())
    indices.push_back(ivs[cast<AffineDimExpr>(result).getPosition()]);
  return tensor::ExtractOp::create(builder, op.getLoc(), operand.get(), indices);
}

static LogicalResult scatterIteration(linalg::LinalgOp op, Value table, Value contribution,
                                      Value resultCotangent, ValueRange ivs, OpBuilder &builder,
                                      Value &sum) {
  Location loc = op.getLoc();
  IRMapping mapping;
  for (OpOperand &operand : op->getOpOperands())
    if (BlockArgument argument = op.getMatchingBlockArgument(&operand); !argument.use_empty())
      mapping.map(argument, extractEntry(op, operand, ivs, builder));
  Activity activity;
  SmallVector<Operation *> ops;
  for (Operation &nested : op.getBlock()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(nested)) {
      mapping.map(index.getResult(), ivs[index.getDim()]);
      continue;
    }
    ops.push_back(builder.clone(nested, mapping));
    if (auto extract = dyn_cast<tensor::ExtractOp>(nested); extract && extract.getTensor() == table)
      activity.add(mapping.lookup(extract.getResult()));
  }
  activity.propagate(*builder.getInsertionBlock());

  SmallVector<Value> indices;
  for (AffineExpr result : op.getIndexingMapMatchingResult(op->getResult(0)).getResults())
    indices.push_back(ivs[cast<AffineDimExpr>(result).getPosition()]);
  ReverseSweep sweep(builder, activity);
  sweep.add(mapping.lookupOrDefault(contribution),
            tensor::ExtractOp::create(builder, loc, resultCotangent, indices));
  for (Operation *nested : llvm::reverse(ops)) {
    auto extract = dyn_cast<tensor::ExtractOp>(nested);
    if (!extract || extract.getTensor() != table) {
      if (failed(sweep.visit(nested)))
        return failure();
      continue;
    }
    Value cotangent = sweep.lookup(extract.getResult());
    if (!cotangent)
      continue;
    Value old = tensor::ExtractOp::create(builder, loc, sum, extract.getIndices());
    Value entry = arith::AddFOp::create(builder, loc, old, cotangent);
    sum = tensor::InsertOp::create(builder, loc, entry, sum, extract.getIndices());
  }
  return success();
}

/// Builds the cotangent of a tensor that the body reads at computed indices. The loops are
/// sequential because iterations may read the same element, and to fix the summation order.
static LogicalResult buildTableCotangent(linalg::LinalgOp op, Value table, Value contribution,
                                         Value resultCotangent, OpBuilder &builder,
                                         Value &tableCotangent) {
  Location loc = op.getLoc();
  if (!llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return refuseOp(op, "reads captured tensors; its indexing maps must be projected "
                        "permutations for a differentiation rule");
  for (Operation *user : table.getUsers())
    if (op->isProperAncestor(user) && !isa<tensor::ExtractOp>(user))
      return refuseOp(user, "reads a tensor that the body captures; a derivative is known for "
                            "tensor.extract only");
  SmallVector<Value> lower, upper, step;
  for (Range range : op.createLoopRanges(builder, loc)) {
    lower.push_back(getValueOrCreateConstantIndexOp(builder, loc, range.offset));
    upper.push_back(getValueOrCreateConstantIndexOp(builder, loc, range.size));
    step.push_back(getValueOrCreateConstantIndexOp(builder, loc, range.stride));
  }
  LogicalResult status = success();
  auto body = [&](OpBuilder &nested, Location, ValueRange ivs, ValueRange sums) {
    Value sum = sums.front();
    status = scatterIteration(op, table, contribution, resultCotangent, ivs, nested, sum);
    return scf::ValueVector{sum};
  };
  Value zeros = createZerosLike(builder, loc, table);
  scf::LoopNest nest = scf::buildLoopNest(builder, loc, lower, upper, step, zeros, body);
  tableCotangent = nest.results.front();
  if (!nest.loops.empty())
    eraseDeadOps(*nest.loops.back().getBody());
  return status;
}

namespace {
template <typename OpTy>
struct StructuredVJP : VJPOpInterface::ExternalModel<StructuredVJP<OpTy>, OpTy> {
  LogicalResult buildVJP(Operation *operation, OpBuilder &builder, ValueRange resultCotangents,
                         ArrayRef<bool> needed, MutableArrayRef<Value> cotangents) const {
    auto op = cast<linalg::LinalgOp>(operation);
    Value resultCotangent = resultCotangents.front();
    FailureOr<Reduction> reduction = matchReduction(op);
    if (failed(reduction) || failed(verifyDifferentiable(op, *reduction)))
      return failure();
    SmallVector<Value> seeds = reduction->createSeeds(op, resultCotangent, builder);
    SmallVector<Value> operands = getDifferentiatedOperands(op);
    for (unsigned i = 0; i < needed.size(); ++i) {
      if (!needed[i])
        continue;
      LogicalResult built = success();
      bool isTable = i >= op->getNumOperands();
      bool isInit = !isTable && op.isDpsInit(&op->getOpOperand(i));
      if ((isTable || isInit) && !reduction->isLinear())
        return refuseOp(op, "can be differentiated only with respect to inputs of its maximum, "
                            "minimum or product, not to initial or captured values");
      if (isTable)
        built = buildTableCotangent(op, operands[i], reduction->contribution, resultCotangent,
                                    builder, cotangents[i]);
      else if (isInit && op.getNumReductionLoops() != 0)
        cotangents[i] = resultCotangent;
      else
        built =
            buildInputCotangent(op, op->getOpOperand(i), *reduction, seeds, builder, cotangents[i]);
      if (failed(built))
        return failure();
    }
    return success();
  }
};

/// A fill overwrites its destination, whose cotangent is therefore zero.
struct FillVJP : VJPOpInterface::ExternalModel<FillVJP, linalg::FillOp> {
  LogicalResult buildVJP(Operation *op, OpBuilder &, ValueRange, ArrayRef<bool> needed,
                         MutableArrayRef<Value>) const {
    if (needed[0])
      return refuseOp(op, "has no differentiation rule for its scalar");
    return success();
  }
};
} // namespace

template <typename... OpTys> static void attachStructured(MLIRContext *context) {
  (OpTys::template attachInterface<StructuredVJP<OpTys>>(*context), ...);
}

void bppsa::registerLinalgVJP(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attachStructured<linalg::GenericOp, linalg::TransposeOp, linalg::BroadcastOp, linalg::ReduceOp,
                     linalg::MapOp, linalg::MatmulOp, linalg::BatchMatmulOp>(context);
    linalg::FillOp::attachInterface<FillVJP>(*context);
    context->loadDialect<scf::SCFDialect, tensor::TensorDialect>();
  });
}
