//===- OperandRelation.cpp - relations of operands and results ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "OperandRelation.h"

using namespace mlir;
using namespace bppsa;

ArrayAccess bppsa::makeAccess(AffineMap map, Value array) {
  auto type = cast<RankedTensorType>(array.getType());
  return {map, SmallVector<int64_t>(type.getShape())};
}

static Relation makeRelation(ArrayRef<int64_t> extents, AffineMap operandMap, Value operand,
                             AffineMap resultMap, Value result, Slope slope = Slope::One) {
  Relation relation;
  relation.accesses.push_back({{SmallVector<int64_t>(extents), std::nullopt},
                               makeAccess(operandMap, operand),
                               makeAccess(resultMap, result)});
  relation.slope = slope;
  return relation;
}

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static std::optional<Relation> getNestRelation(linalg::LinalgOp op, OpResult result, Value operand,
                                               const SampleAxes &axes, std::string &why) {
  Block &body = *op.getBlock();
  OpOperand *init = op.getDpsInitOperand(result.getResultNumber());
  auto isSampled = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != &body)
      return axes.contains(value);
    OpOperand &source = op->getOpOperand(argument.getArgNumber());
    // An accumulator depends on samples as soon as an operand does.
    return axes.contains(source.get()) || op.isDpsInit(&source);
  };
  auto getSlope = [&](Value target) {
    return getBodySlope(body, target, body.getTerminator()->getOperand(result.getResultNumber()),
                        isSampled);
  };
  tensor::ExtractOp extract;
  body.walk([&](tensor::ExtractOp candidate) {
    if (candidate.getTensor() == operand)
      extract = candidate;
  });
  std::optional<Relation> relation;
  if (extract) {
    auto generic = dyn_cast<linalg::GenericOp>(*op);
    relation = generic ? getGatherRelation(generic, extract, why) : std::nullopt;
    if (relation)
      relation->slope = getSlope(operand);
    return relation;
  }
  for (OpOperand &source : op->getOpOperands()) {
    if (source.get() != operand)
      continue;
    AffineMap map = op.getMatchingIndexingMap(&source);
    Slope slope = getSlope(op.getMatchingBlockArgument(&source));
    if (relation && (slope == Slope::Zero || map == relation->accesses.front().operand.map)) {
      // Two slopes of the same element are added.
      if (slope != Slope::Zero)
        relation->slope = std::max({relation->slope, slope, Slope::Shared});
      continue;
    }
    if (relation && relation->slope != Slope::Zero) {
      why = "it reads the operand at several places at once";
      return std::nullopt;
    }
    relation = makeRelation(op.getStaticLoopRanges(), map, operand, op.getMatchingIndexingMap(init),
                            result, slope);
  }
  for (OpOperand *input : op.getDpsInputOperands())
    if (input->get() != operand)
      relation->factors.push_back(op.getMatchingIndexingMap(input));
  return relation;
}

/// `index[i] = offset[i] + stride[i] * loop`; dropped dimensions have no loop.
static std::optional<AffineMap> getSliceMap(OffsetSizeAndStrideOpInterface op,
                                            const llvm::SmallBitVector &dropped, std::string &why) {
  MLIRContext *context = op->getContext();
  SmallVector<AffineExpr> exprs;
  unsigned numLoops = 0;
  for (auto [i, offset, stride] : llvm::enumerate(op.getMixedOffsets(), op.getMixedStrides())) {
    std::optional<int64_t> first = getConstantIntValue(offset), step = getConstantIntValue(stride);
    if (!first || !step) {
      why = "its offsets are known only at run time";
      return std::nullopt;
    }
    AffineExpr expr = getAffineConstantExpr(*first, context);
    if (!dropped.test(i))
      expr = expr + getAffineDimExpr(numLoops++, context) * *step;
    exprs.push_back(expr);
  }
  return AffineMap::get(numLoops, 0, exprs, context);
}

static AffineMap getCollapsedMap(RankedTensorType expanded, ArrayRef<ReassociationIndices> groups) {
  MLIRContext *context = expanded.getContext();
  SmallVector<AffineExpr> exprs;
  for (const ReassociationIndices &group : groups) {
    AffineExpr expr = getAffineConstantExpr(0, context);
    for (int64_t dim : group)
      if (int64_t size = expanded.getDimSize(dim); size != 1)
        expr = expr * (ShapedType::isDynamic(size) ? 1 : size) + getAffineDimExpr(dim, context);
    exprs.push_back(expr);
  }
  return AffineMap::get(expanded.getRank(), 0, exprs, context);
}

/// Each group may have one dynamic size, its first size other than 1.
static bool hasKnownStrides(RankedTensorType expanded, ArrayRef<ReassociationIndices> groups) {
  return llvm::all_of(groups, [&](const ReassociationIndices &group) {
    auto dims =
        llvm::make_filter_range(group, [&](int64_t dim) { return expanded.getDimSize(dim) != 1; });
    return dims.empty() || llvm::none_of(llvm::drop_begin(dims),
                                         [&](int64_t dim) { return expanded.isDynamicDim(dim); });
  });
}

static std::optional<Relation> getReshapeRelation(Value operand, Value result, Value expanded,
                                                  ArrayRef<ReassociationIndices> groups,
                                                  std::string &why) {
  auto type = cast<RankedTensorType>(expanded.getType());
  if (!hasKnownStrides(type, groups)) {
    why = "it reshapes dimensions whose sizes are known at run time only";
    return std::nullopt;
  }
  AffineMap all = AffineMap::getMultiDimIdentityMap(type.getRank(), type.getContext());
  AffineMap collapsed = getCollapsedMap(type, groups);
  return makeRelation(type.getShape(), operand == expanded ? all : collapsed, operand,
                      operand == expanded ? collapsed : all, result);
}

static std::optional<Relation> getInsertRelation(tensor::InsertSliceOp op, Value operand,
                                                 std::string &why) {
  std::optional<AffineMap> map = getSliceMap(op, op.getDroppedDims(), why);
  if (!map)
    return std::nullopt;
  if (operand != op.getSource()) {
    why = "it overwrites a part of the operand";
    return std::nullopt;
  }
  AffineMap all = AffineMap::getMultiDimIdentityMap(map->getNumDims(), op.getContext());
  return makeRelation(getShape(operand), all, operand, *map, op.getResult());
}

static std::optional<Relation> getConcatRelation(tensor::ConcatOp op, Value operand,
                                                 std::string &why) {
  int64_t offset = 0;
  for (Value input : op.getInputs()) {
    if (input == operand)
      break;
    offset += getShape(input)[op.getDim()];
    if (getShape(input)[op.getDim()] < 0) {
      why = "it joins arrays whose sizes are known at run time only";
      return std::nullopt;
    }
  }
  AffineMap all = AffineMap::getMultiDimIdentityMap(getShape(operand).size(), op.getContext());
  SmallVector<AffineExpr> exprs(all.getResults());
  exprs[op.getDim()] = exprs[op.getDim()] + offset;
  return makeRelation(getShape(operand), all, operand,
                      AffineMap::get(all.getNumDims(), 0, exprs, op.getContext()), op.getResult());
}

static std::optional<Relation> getPadRelation(tensor::PadOp op, std::string &why) {
  Value operand = op.getSource();
  AffineMap all = AffineMap::getMultiDimIdentityMap(getShape(operand).size(), op.getContext());
  SmallVector<AffineExpr> exprs;
  for (auto [expr, low] : llvm::zip_equal(all.getResults(), op.getMixedLowPad())) {
    std::optional<int64_t> before = getConstantIntValue(low);
    if (!before) {
      why = "its padding is known at run time only";
      return std::nullopt;
    }
    exprs.push_back(expr + *before);
  }
  return makeRelation(getShape(operand), all, operand,
                      AffineMap::get(all.getNumDims(), 0, exprs, op.getContext()), op.getResult());
}

std::optional<Relation> bppsa::getRelation(OpResult result, Value operand, const SampleAxes &axes,
                                           std::string &why) {
  Operation *op = result.getOwner();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return getNestRelation(linalgOp, result, operand, axes, why);
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return getInsertRelation(insert, operand, why);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return getConcatRelation(concat, operand, why);
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return getPadRelation(pad, why);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return getReshapeRelation(operand, result, operand, collapse.getReassociationIndices(), why);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return getReshapeRelation(operand, result, result, expand.getReassociationIndices(), why);
  auto rank = cast<RankedTensorType>(result.getType()).getRank();
  AffineMap all = AffineMap::getMultiDimIdentityMap(rank, op->getContext());
  if (auto extract = dyn_cast<tensor::ExtractSliceOp>(op)) {
    std::optional<AffineMap> map = getSliceMap(extract, extract.getDroppedDims(), why);
    if (!map)
      return std::nullopt;
    return makeRelation(getShape(result), *map, operand, all, result);
  }
  if (isa<tensor::CastOp>(op))
    return makeRelation(getShape(result), all, operand, all, result);
  if (isa<StopGradientOp>(op))
    return makeRelation(getShape(result), all, operand, all, result, Slope::Zero);
  if (op->hasTrait<OpTrait::Elementwise>() || isa<DropoutOp>(op))
    return makeRelation(getShape(result), all, operand, all, result,
                        isa<arith::AddFOp>(op) ? Slope::One : Slope::PerSample);
  why = "no rule is known for '" + op->getName().getStringRef().str() + "'";
  return std::nullopt;
}
