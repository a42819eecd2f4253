//===- CreateLink.cpp - the two forms of a link ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../TensorBuilders.h"
#include "LayerLinks.h"
#include "bppsa/Support/SampleLayout.h"

using namespace mlir;
using namespace bppsa;

static Value createIndices(OpBuilder &builder, Location loc, ArrayRef<int32_t> indices) {
  auto type = RankedTensorType::get(indices.size(), builder.getI32Type());
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, indices));
}

static FailureOr<Value> pullBack(OpBuilder &builder, Operation *op, Value value, Value cotangent) {
  SmallVector<bool> needed = llvm::map_to_vector(getDifferentiatedOperands(op),
                                                 [&](Value operand) { return operand == value; });
  FailureOr<SmallVector<Value>> cotangents = applyRule(builder, op, cotangent, needed);
  if (failed(cotangents))
    return failure();
  Value sum;
  for (Value found : *cotangents)
    if (found)
      sum = sum ? createAdd(builder, op->getLoc(), sum, found) : found;
  return sum ? sum : createZerosLike(builder, op->getLoc(), value);
}

static FailureOr<Value> pullBack(OpBuilder &builder, ArrayRef<Layer> layers, Value cotangent) {
  FailureOr<Value> found = cotangent;
  for (const Layer &layer : layers)
    if (failed(found = pullBack(builder, layer.op, layer.operand, *found)))
      return failure();
  return found;
}

static LogicalResult buildRule(OpBuilder &builder, const LinkWithJacobian &link, Value cotangent,
                               Value pruned) {
  FailureOr<Value> entered = pullBack(builder, link.entering, cotangent);
  FailureOr<Value> found = failed(entered) ? entered : pullBack(builder, link.layer, *entered);
  if (succeeded(found))
    found = pullBack(builder, link.absorbed, *found);
  if (failed(found))
    return failure();
  SmallVector<Value> results = {*found};
  if (pruned) {
    FailureOr<Value> gradient = pullBack(builder, link.getOp(), pruned, *entered);
    if (failed(gradient))
      return failure();
    results.push_back(
        createMasked(builder, link.getOp()->getLoc(), *gradient, getNonzeros(pruned)));
  }
  jacobian::YieldOp::create(builder, link.getOp()->getLoc(), results);
  return success();
}

static FailureOr<Value> createSlopes(OpBuilder &builder, const Layer &layer) {
  Location loc = layer.op->getLoc();
  Value ones =
      createFilled(builder, loc, tensor::getMixedSizes(builder, loc, layer.op->getResult(0)),
                   builder.getF32FloatAttr(1));
  FailureOr<Value> slopes = pullBack(builder, layer, ones);
  if (failed(slopes))
    return failure();
  return flattenSamples(builder, *slopes);
}

/// Creates ones for the entries whose row is the position chosen by the forward pass, else zeros.
static Value createChoices(OpBuilder &builder, const LinkWithJacobian &link) {
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

static FailureOr<Value> createJacobian(OpBuilder &builder, const LinkWithJacobian &link) {
  Location loc = link.getOp()->getLoc();
  jacobian::MatrixType type = link.type;
  int64_t batch = cast<RankedTensorType>(link.operand.getType()).getDimSize(0);
  auto getTypeForEachSample = [&] {
    return jacobian::MatrixType::get(type.getContext(), type.getRows(), type.getCols(),
                                     type.getElementType(), type.getStructure(), batch);
  };
  switch (link.values.kind) {
  case LinkValues::Kind::Slopes: {
    FailureOr<Value> slopes = createSlopes(builder, link.layer);
    if (failed(slopes))
      return failure();
    return jacobian::AssembleOp::create(builder, loc, getTypeForEachSample(), *slopes, nullptr)
        .getResult();
  }
  case LinkValues::Kind::Choice:
    return jacobian::AssembleOp::create(builder, loc, getTypeForEachSample(),
                                        createChoices(builder, link), nullptr)
        .getResult();
  case LinkValues::Kind::Shared:
    return jacobian::AssembleOp::create(builder, loc, type, link.values.factor,
                                        builder.getDenseI32ArrayAttr(link.values.sources))
        .getResult();
  case LinkValues::Kind::Ones: {
    auto oneType = RankedTensorType::get(1, type.getElementType());
    Value one = arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(oneType, builder.getF32FloatAttr(1).getValue()));
    SmallVector<int32_t> positions(type.computePattern().getNumEntries(), 0);
    return jacobian::AssembleOp::create(builder, loc, type, one,
                                        builder.getDenseI32ArrayAttr(positions))
        .getResult();
  }
  }
  llvm_unreachable("unknown kind of values");
}

static Value createPrunedGradient(OpBuilder &builder, const LinkWithJacobian &link,
                                  Value cotangent) {
  // Jacobian entries grouped by the weight they hold.
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
  Value sum = jacobian::SparseOuterSumOp::create(
                  builder, loc, RankedTensorType::get(type.getNumElements(), type.getElementType()),
                  transposeSamples(builder, loc, flattenSamples(builder, link.operand)),
                  transposeSamples(builder, loc, flattenSamples(builder, cotangent)),
                  createIndices(builder, loc, starts), createIndices(builder, loc, rows),
                  createIndices(builder, loc, cols), createIndices(builder, loc, weights), Value())
                  .getResult();
  SmallVector<ReassociationIndices> all = {llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()))};
  return tensor::ExpandShapeOp::create(builder, loc, type, sum, all);
}

static Value createRegion(OpBuilder &builder, Region &region, Value cotangent) {
  builder.createBlock(&region, region.end(), cotangent.getType(), cotangent.getLoc());
  return region.getArgument(0);
}

FailureOr<jacobian::LinkOp> bppsa::createLink(OpBuilder &builder, const LinkWithJacobian &link,
                                              Value cotangent, Value pruned) {
  SmallVector<Type> gradients;
  if (pruned)
    gradients.push_back(pruned.getType());
  Location loc = link.getOp()->getLoc();
  auto op = jacobian::LinkOp::create(builder, loc, link.operand.getType(), gradients, cotangent);
  OpBuilder::InsertionGuard guard(builder);
  if (failed(buildRule(builder, link, createRegion(builder, op.getRule(), cotangent), pruned)))
    return failure();
  Value inside = createRegion(builder, op.getJacobian(), cotangent);
  FailureOr<Value> jacobian = createJacobian(builder, link);
  if (failed(jacobian))
    return failure();
  SmallVector<Value> results = {*jacobian};
  if (pruned)
    results.push_back(createPrunedGradient(builder, link, inside));
  jacobian::YieldOp::create(builder, loc, results);
  return op;
}
