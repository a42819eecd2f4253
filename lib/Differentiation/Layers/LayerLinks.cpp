//===- LayerLinks.cpp - chains of layers with explicit Jacobians ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LayerLinks.h"
#include "../TensorBuilders.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Support/SampleLayout.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

static remark::RemarkOpts getRemarkOptions(Operation *op) {
  return remark::RemarkOpts::name("LayerLinks")
      .category("links")
      .function(op->getParentOfType<func::FuncOp>().getName());
}

static void reportNoLink(Operation *op, StringRef why) {
  remark::missed(op->getLoc(), getRemarkOptions(op))
      << remark::add("{0} is no link of a chain: {1}", op->getName().getStringRef(), why);
}

void LayerLinks::addChain(const LayerChain &found, const SampleAxes &axes) {
  Chain chain;
  bool isWhole = true;
  for (const LayerLink &link : found.links) {
    // Cotangents of the layers before this one are not wanted.
    isWhole = activity.contains(link.operand);
    if (!isWhole)
      break;
    const Layer &layer = link.layer;
    std::string why;
    std::optional<LinkValues> values = findLinkValues(cast<OpResult>(layer.op->getResult(0)),
                                                      layer.operand, layer.type, axes, why);
    if (!values) {
      reportNoLink(layer.op, why);
      break;
    }
    if (!link.rows.empty())
      values = values->selectRows(layer.type.computePattern(), link.rows);
    chain.push_back({link, std::move(*values)});
  }
  // A single link has nothing to be composed with.
  if (chain.size() < 2)
    return;
  Operation *last = chain.front().getOp();
  remark::passed(last->getLoc(), getRemarkOptions(last))
      << remark::add("chain of {0} links", chain.size());
  if (isWhole && !found.begins.empty())
    remark::analysis(last->getLoc(), getRemarkOptions(last))
        << remark::add("the chain is cut where it begins: {0}", found.begins);
  for (const Link &link : chain) {
    chainOf[link.getOp()] = chains.size();
    for (const Layer &identity : link.entering)
      chainOf[identity.op] = chains.size();
  }
  chains.push_back(std::move(chain));
}

void LayerLinks::find(func::FuncOp function) {
  // The chain over time of a recurrent model is the long one; its links are code.
  if (function.walk([](RecurrenceOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return;
  SampleAxes axes = annotateGraphStructure(function, /*batchAxis=*/0,
                                           [](Operation *, JacobianType, StringRef) {});
  for (const LayerChain &found : findLayerChains(function, {}, reportNoLink))
    addChain(found, axes);
  function.walk([](Operation *op) { attrs::Jacobian::remove(op); });
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

static Value createIndices(OpBuilder &builder, Location loc, ArrayRef<int32_t> indices) {
  auto type = RankedTensorType::get(indices.size(), builder.getI32Type());
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, indices));
}

//===----------------------------------------------------------------------===//
// Jacobians
//===----------------------------------------------------------------------===//

FailureOr<Value> LayerLinks::createSlopes(const Layer &layer) {
  Value result = layer.op->getResult(0);
  Value ones = createFilled(builder, layer.op->getLoc(),
                            tensor::getMixedSizes(builder, layer.op->getLoc(), result),
                            builder.getF32FloatAttr(1));
  SmallVector<Value> operands = getDifferentiatedOperands(layer.op), cotangents(operands.size());
  SmallVector<bool> needed =
      llvm::map_to_vector(operands, [&](Value value) { return value == layer.operand; });
  if (failed(cast<VJPOpInterface>(layer.op).buildVJP(builder, ones, needed, cotangents)))
    return failure();
  Value sum;
  for (Value cotangent : cotangents)
    if (cotangent)
      sum = sum ? createAdd(builder, layer.op->getLoc(), sum, cotangent) : cotangent;
  return flattenSamples(builder, sum);
}

Value LayerLinks::createChoices(const Link &link) {
  Location loc = link.getOp()->getLoc();
  Value choice = flattenSamples(builder, link.values.choice);
  int64_t numEntries = link.values.columns.size();
  Value columns = createIndices(builder, loc, link.values.columns);
  Value sources = createIndices(builder, loc, link.values.sources);
  Value empty = tensor::EmptyOp::create(
      builder, loc,
      {tensor::getMixedSize(builder, loc, choice, 0), builder.getIndexAttr(numEntries)},
      link.type.getElementType());
  AffineMap entry = AffineMap::get(2, 0, builder.getAffineDimExpr(1));
  SmallVector<AffineMap> maps = {entry, entry, builder.getMultiDimIdentityMap(2)};
  SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, empty.getType(), ValueRange{columns, sources}, empty, maps, iterators,
      [&](OpBuilder &nested, Location, ValueRange elements) {
        Value sample = linalg::IndexOp::create(nested, loc, 0);
        Value column = arith::IndexCastOp::create(nested, loc, nested.getIndexType(), elements[0]);
        Value chosen = tensor::ExtractOp::create(nested, loc, choice, ValueRange{sample, column});
        Value own = arith::ExtSIOp::create(nested, loc, chosen.getType(), elements[1]);
        Value same = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::eq, chosen, own);
        Value one = arith::ConstantOp::create(nested, loc, nested.getF32FloatAttr(1));
        Value zero = arith::ConstantOp::create(nested, loc, nested.getF32FloatAttr(0));
        linalg::YieldOp::create(nested, loc,
                                arith::SelectOp::create(nested, loc, same, one, zero).getResult());
      });
  return generic.getResult(0);
}

FailureOr<Value> LayerLinks::createJacobian(const Link &link) {
  Location loc = link.getOp()->getLoc();
  if (isDense)
    return createDenseJacobian(builder, link);
  JacobianType type = link.type;
  int64_t batch = cast<RankedTensorType>(link.operand.getType()).getDimSize(0);
  auto getTypeForEachSample = [&] {
    return JacobianType::get(type.getContext(), type.getRows(), type.getCols(),
                             type.getElementType(), type.getStructure(), batch);
  };
  switch (link.values.kind) {
  case LinkValues::Kind::Slopes: {
    FailureOr<Value> slopes = createSlopes(link.layer);
    if (failed(slopes))
      return failure();
    return AssembleOp::create(builder, loc, getTypeForEachSample(), *slopes, nullptr).getResult();
  }
  case LinkValues::Kind::Choice:
    return AssembleOp::create(builder, loc, getTypeForEachSample(), createChoices(link), nullptr)
        .getResult();
  case LinkValues::Kind::Shared:
    return AssembleOp::create(builder, loc, type, link.values.factor,
                              builder.getDenseI32ArrayAttr(link.values.sources))
        .getResult();
  case LinkValues::Kind::Ones: {
    auto oneType = RankedTensorType::get(1, type.getElementType());
    Value one = arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(oneType, builder.getF32FloatAttr(1).getValue()));
    SmallVector<int32_t> positions(type.computePattern().getNumEntries(), 0);
    return AssembleOp::create(builder, loc, type, one, builder.getDenseI32ArrayAttr(positions))
        .getResult();
  }
  }
  llvm_unreachable("unknown kind of values");
}

//===----------------------------------------------------------------------===//
// The sweep
//===----------------------------------------------------------------------===//

Value LayerLinks::createPrunedGradient(const Link &link, Value cotangent) {
  // The entries of the Jacobian that are one weight, weight by weight.
  struct Entry {
    int32_t source, row, col;
  };
  std::vector<Entry> entries;
  SparsityPattern pattern = link.type.computePattern();
  for (int64_t row = 0; row < pattern.getNumRows(); ++row)
    for (int32_t col : pattern.getRow(row))
      entries.push_back({link.values.sources[entries.size()], int32_t(row), col});
  llvm::sort(entries, [](const Entry &a, const Entry &b) {
    return std::tie(a.source, a.row, a.col) < std::tie(b.source, b.row, b.col);
  });
  std::vector<int32_t> starts, rows, cols, weights;
  for (auto [i, entry] : llvm::enumerate(entries)) {
    if (weights.empty() || weights.back() != entry.source) {
      weights.push_back(entry.source);
      starts.push_back(i);
    }
    rows.push_back(entry.row);
    cols.push_back(entry.col);
  }
  starts.push_back(entries.size());

  Location loc = link.getOp()->getLoc();
  auto type = cast<RankedTensorType>(link.values.factor.getType());
  Value sum = SparseOuterSumOp::create(
                  builder, loc, RankedTensorType::get(type.getNumElements(), type.getElementType()),
                  transposeSamples(builder, loc, flattenSamples(builder, link.operand)),
                  transposeSamples(builder, loc, cotangent), createIndices(builder, loc, starts),
                  createIndices(builder, loc, rows), createIndices(builder, loc, cols),
                  createIndices(builder, loc, weights), Value())
                  .getResult();
  SmallVector<ReassociationIndices> all = {llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()))};
  return tensor::ExpandShapeOp::create(builder, loc, type, sum, all);
}

LogicalResult LayerLinks::addParameterCotangents(const Layer &layer, Value cotangent, Value done) {
  SmallVector<Value> operands = getDifferentiatedOperands(layer.op), cotangents(operands.size());
  SmallVector<bool> needed = llvm::map_to_vector(operands, [&](Value value) {
    return value != layer.operand && activity.contains(value) && value != done;
  });
  if (!llvm::is_contained(needed, true))
    return success();
  auto rule = dyn_cast<VJPOpInterface>(layer.op);
  if (!rule)
    return layer.op->emitOpError("has no differentiation rule, and a gradient has to pass through "
                                 "it; freeze the values that it depends on");
  Value shaped = unflattenSamples(builder, cotangent, layer.op->getResult(0));
  if (failed(rule.buildVJP(builder, shaped, needed, cotangents)))
    return failure();
  for (auto [operand, gradient] : llvm::zip_equal(operands, cotangents))
    if (gradient)
      sweep.add(operand, gradient, gradient != shaped);
  return success();
}

LogicalResult LayerLinks::addParameterCotangents(const Link &link, Value cotangent) {
  for (const Layer &identity : link.entering)
    if (failed(addParameterCotangents(identity, cotangent, /*done=*/{})))
      return failure();
  Value factor = link.values.factor;
  bool isPruned = factor && activity.contains(factor) && getNonzeros(factor);
  if (isPruned)
    sweep.add(factor, createPrunedGradient(link, cotangent));
  return addParameterCotangents(link.layer, cotangent, isPruned ? factor : Value());
}

/// The first operation of the chain of `front` that cotangents reach.
static Operation *getFirstReached(const LayerLink &front) {
  return front.entering.empty() ? front.getOp() : front.entering.front().op;
}

LogicalResult LayerLinks::visit(Operation *op) {
  const Chain &chain = chains[chainOf.at(op)];
  Value seed = sweep.lookup(op->getResult(0));
  if (getFirstReached(chain.front()) != op || !seed)
    return success();
  // Jacobians first: a plan may read any of them before the first product.
  SmallVector<Value> jacobians;
  for (const Link &link : chain) {
    FailureOr<Value> jacobian = createJacobian(link);
    if (failed(jacobian))
      return failure();
    jacobians.push_back(*jacobian);
  }
  SmallVector<Value> cotangents = {flattenSamples(builder, seed)};
  for (auto [link, jacobian] : llvm::zip_equal(chain, jacobians)) {
    auto type = cast<RankedTensorType>(cotangents.back().getType());
    cotangents.push_back(ApplyOp::create(
        builder, link.getOp()->getLoc(),
        RankedTensorType::get({type.getDimSize(0), link.type.getRows()}, type.getElementType()),
        jacobian, cotangents.back()));
  }
  for (auto [link, cotangent] : llvm::zip(chain, cotangents))
    if (failed(addParameterCotangents(link, cotangent)))
      return failure();
  Value operand = chain.back().operand;
  sweep.add(operand, unflattenSamples(builder, cotangents.back(), operand));
  return success();
}
