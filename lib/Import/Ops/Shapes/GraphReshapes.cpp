//===- GraphReshapes.cpp - reshapes, slices and concatenations ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/GraphBuilder.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

namespace {
struct ReshapeGroup {
  size_t sourceBegin, sourceEnd, targetBegin, targetEnd;
};
} // namespace

static SmallVector<ReshapeGroup> getReshapeGroups(ArrayRef<Dim> source, ArrayRef<Dim> target) {
  auto isZero = [](const Dim &dim) { return getConstant(dim.size) == 0; };
  if (llvm::any_of(source, isZero))
    return {{0, source.size(), 0, target.size()}};
  SmallVector<ReshapeGroup> groups;
  size_t i = 0, j = 0;
  while (i < source.size() && j < target.size()) {
    ReshapeGroup group{i, i + 1, j, j + 1};
    MaybeExpr left = source[i].size, right = target[j].size;
    while (left && right && left != right) {
      bool growTarget = group.targetEnd < target.size() && !divideExactly(*right, *left);
      bool growSource = group.sourceEnd < source.size() && !divideExactly(*left, *right);
      if (!growTarget && !growSource)
        break;
      if (growSource)
        left = multiplyExprs(*left, source[group.sourceEnd++].size);
      if (growTarget && right)
        right = multiplyExprs(*right, target[group.targetEnd++].size);
    }
    groups.push_back(group);
    i = group.sourceEnd;
    j = group.targetEnd;
  }
  // The remaining dimensions have size 1.
  if (!groups.empty()) {
    groups.back().sourceEnd = source.size();
    groups.back().targetEnd = target.size();
  }
  return groups;
}

/// Assigns the factors of the source dimensions of a group to its target dimensions while sizes
/// match. Returns whether all do.
static bool assignFactors(AxisClasses &axes, ArrayRef<Dim> source, MutableArrayRef<Dim> target) {
  SmallVector<Factor> factors;
  for (const Dim &dim : source)
    factors.append(dim.factors.begin(), dim.factors.end());
  size_t next = 0;
  auto isOne = [&](size_t i) { return i < factors.size() && getConstant(factors[i].size) == 1; };
  for (Dim &dim : target) {
    if (dim.isOne()) {
      // Among several factors of size 1, prefer one with a known axis.
      size_t chosen = next;
      while (isOne(chosen) && factors[chosen].origin < 0 && isOne(chosen + 1))
        ++chosen;
      if (isOne(chosen)) {
        dim.factors = {factors[chosen]};
        next = chosen + 1;
      }
      continue;
    }
    SmallVector<Factor, 1> taken;
    MaybeExpr rest = dim.size;
    for (; next < factors.size() && rest && getConstant(*rest) != 1; ++next) {
      if (isOne(next))
        continue;
      MaybeExpr others = divideExactly(factors[next].size, *rest);
      if (others && getConstant(*others) != 1) {
        axes.mark(factors[next].origin, Cut);
        factors[next] = {*rest, axes.add(Split)};
        factors.insert(factors.begin() + next + 1, Factor{*others, axes.add(Split)});
      }
      rest = divideExactly(*rest, factors[next].size);
      taken.push_back(factors[next]);
    }
    if (!rest || getConstant(*rest) != 1)
      return false;
    dim.factors = taken;
  }
  return true;
}

static SmallVector<ReassociationIndices> getIndices(ArrayRef<ReshapeGroup> groups, bool source) {
  return llvm::map_to_vector(groups, [&](const ReshapeGroup &group) {
    auto range = source ? llvm::seq<int64_t>(group.sourceBegin, group.sourceEnd)
                        : llvm::seq<int64_t>(group.targetBegin, group.targetEnd);
    return ReassociationIndices(range.begin(), range.end());
  });
}

static RankedTensorType getCollapsedType(RankedTensorType type,
                                         ArrayRef<ReassociationIndices> groups) {
  SmallVector<int64_t> shape;
  for (const ReassociationIndices &group : groups) {
    int64_t size = 1;
    for (int64_t index : group)
      size = type.isDynamicDim(index) || ShapedType::isDynamic(size)
                 ? ShapedType::kDynamic
                 : size * type.getDimSize(index);
    shape.push_back(size);
  }
  return RankedTensorType::get(shape, type.getElementType());
}

/// Returns whether each group has at most one dimension whose size is not 1.
static bool mergesOnes(RankedTensorType type, ArrayRef<ReassociationIndices> groups) {
  return llvm::all_of(groups, [&](const ReassociationIndices &group) {
    return llvm::count_if(group, [&](int64_t dim) { return type.getDimSize(dim) != 1; }) <= 1;
  });
}

Value GraphBuilder::makeCollapsed(Value value, RankedTensorType type,
                                  ArrayRef<ReassociationIndices> groups) {
  auto concat = value.getDefiningOp<tensor::ConcatOp>();
  for (auto [dim, group] : llvm::enumerate(groups))
    if (concat && group.front() == static_cast<int64_t>(concat.getDim())) {
      SmallVector<Value> parts = llvm::map_to_vector(concat.getInputs(), [&](Value part) {
        auto partType = getCollapsedType(cast<RankedTensorType>(part.getType()), groups);
        return makeCollapsed(part, partType, groups);
      });
      return tensor::ConcatOp::create(builder, loc, type, dim, parts);
    }
  auto expand = value.getDefiningOp<tensor::ExpandShapeOp>();
  if (expand && expand.getSrcType() == type && mergesOnes(expand.getResultType(), groups) &&
      mergesOnes(expand.getResultType(), expand.getReassociationIndices()))
    return expand.getSrc();
  return builder.createOrFold<tensor::CollapseShapeOp>(loc, type, value, groups);
}

Tensor GraphBuilder::makeReshape(const Tensor &operand, ArrayRef<Dim> dims) {
  Tensor result = operand;
  result.dims.assign(dims.begin(), dims.end());
  SmallVector<ReshapeGroup> groups = getReshapeGroups(operand.dims, dims);
  for (const ReshapeGroup &group : groups) {
    ArrayRef<Dim> source =
        ArrayRef(operand.dims).slice(group.sourceBegin, group.sourceEnd - group.sourceBegin);
    MutableArrayRef<Dim> target =
        MutableArrayRef(result.dims).slice(group.targetBegin, group.targetEnd - group.targetBegin);
    SmallVector<Dim> found(target);
    if (!assignFactors(axes, source, found))
      for (const Dim &dim : source)
        mark(dim, Cut);
    for (auto [dim, other] : llvm::zip(target, found))
      dim = mergeOrigins(other, dim);
  }
  if (operand.elements)
    return result;

  RankedTensorType sourceType = getType(operand.dims, operand.elementType);
  RankedTensorType targetType = getType(dims, operand.elementType);
  SmallVector<ReassociationIndices> sources = getIndices(groups, /*source=*/true);
  SmallVector<ReassociationIndices> targets = getIndices(groups, /*source=*/false);
  Value value = operand.value;
  RankedTensorType merged = getCollapsedType(sourceType, sources);
  if (merged.getRank() != sourceType.getRank())
    value = makeCollapsed(value, merged, sources);
  RankedTensorType split = getCollapsedType(targetType, targets);
  if (split != merged)
    value = tensor::CastOp::create(builder, loc, split, value);
  if (split.getRank() != targetType.getRank()) {
    SmallVector<OpFoldResult> sizes =
        llvm::map_to_vector(dims, [&](const Dim &dim) { return getSize(dim.size); });
    value = tensor::ExpandShapeOp::create(builder, loc, targetType, value, targets, sizes);
  }
  result.value = value;
  return result;
}

Tensor GraphBuilder::makeSqueeze(const Tensor &operand, ArrayRef<int64_t> axes) {
  SmallVector<bool> collapsed(operand.getRank(), false);
  Tensor result = operand;
  result.dims.clear();
  for (int64_t axis : axes)
    collapsed[axis] = true;
  for (auto [dim, isCollapsed] : llvm::zip(operand.dims, collapsed))
    if (!isCollapsed)
      result.dims.push_back(dim);
  if (!operand.elements)
    result.value = collapseOnes(operand, collapsed);
  return result;
}

Tensor GraphBuilder::makeUnsqueeze(const Tensor &operand, ArrayRef<int64_t> axes) {
  int64_t rank = operand.getRank() + axes.size();
  Tensor result = operand;
  result.dims.clear();
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices leading;
  for (int64_t i = 0, next = 0; i < rank; ++i) {
    if (llvm::is_contained(axes, i)) {
      result.dims.push_back(getDim(1));
      (groups.empty() ? leading : groups.back()).push_back(i);
    } else {
      result.dims.push_back(operand.dims[next++]);
      groups.push_back(std::exchange(leading, {}));
      groups.back().push_back(i);
    }
  }
  if (operand.elements || axes.empty())
    return result;
  SmallVector<OpFoldResult> sizes =
      llvm::map_to_vector(result.dims, [&](const Dim &dim) { return getSize(dim.size); });
  result.value = tensor::ExpandShapeOp::create(
      builder, loc, getType(result.dims, operand.elementType), operand.value, groups, sizes);
  return result;
}

Tensor GraphBuilder::makeSlice(const Tensor &operand, int64_t axis, AffineExpr offset,
                               AffineExpr size, int64_t stride) {
  SmallVector<Dim> dims(operand.dims);
  if (dims[axis].size == size)
    return operand;
  if (getConstant(size) == 0) {
    dims[axis] = getDim(size);
    return makeFilled(dims, cast<TypedAttr>(builder.getZeroAttr(operand.elementType)));
  }
  // A part of an axis keeps the axis, but a single element does not.
  int origin = getOrigin(dims[axis]);
  mark(dims[axis], Cut);
  dims[axis] = getDim(size);
  if (!dims[axis].isOne())
    dims[axis].factors.front().origin = origin;
  SmallVector<OpFoldResult> offsets(operand.getRank(), builder.getIndexAttr(0)),
      strides(operand.getRank(), builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes =
      llvm::map_to_vector(dims, [&](const Dim &dim) { return getSize(dim.size); });
  offsets[axis] = getSize(offset);
  strides[axis] = builder.getIndexAttr(stride);
  Value value = tensor::ExtractSliceOp::create(builder, loc, getType(dims, operand.elementType),
                                               getValue(operand), offsets, sizes, strides);
  return make(value, dims);
}

Tensor GraphBuilder::makePadded(const Tensor &operand, ArrayRef<int64_t> before,
                                ArrayRef<int64_t> after, TypedAttr element) {
  SmallVector<Dim> dims(operand.dims);
  SmallVector<OpFoldResult> offsets, sizes, strides(dims.size(), builder.getIndexAttr(1));
  bool isPadded = false;
  for (auto [dim, low, high] : llvm::zip_equal(dims, before, after)) {
    offsets.push_back(builder.getIndexAttr(low));
    sizes.push_back(getSize(dim.size));
    if (low == 0 && high == 0)
      continue;
    isPadded = true;
    mark(dim, Cut);
    dim = getDim(*addExprs(dim.size, getExpr(low + high)));
  }
  if (!isPadded)
    return operand;
  Value value = tensor::InsertSliceOp::create(
      builder, loc, getValue(operand), makeFilled(dims, element).value, offsets, sizes, strides);
  return make(value, dims);
}

FailureOr<Tensor> GraphBuilder::makeConcat(ArrayRef<Tensor> operands, int64_t axis) {
  SmallVector<Dim> dims = operands.front().dims;
  // Operands without elements contribute only their shape.
  SmallVector<Tensor> joined;
  for (const Tensor &operand : operands) {
    for (auto [i, dim] : llvm::enumerate(operand.dims)) {
      if (static_cast<int64_t>(i) == axis)
        continue;
      FailureOr<Dim> common = unify(dims[i], dim);
      if (failed(common))
        return failure();
      dims[i] = *common;
    }
    if (getConstant(operand.dims[axis].size) != 0)
      joined.push_back(operand);
  }
  if (joined.size() < 2)
    return joined.empty() ? operands.front() : joined.front();
  MaybeExpr sum = getExpr(0);
  SmallVector<Value> values;
  for (const Tensor &operand : joined) {
    mark(operand.dims[axis], Cut);
    sum = sum ? addExprs(*sum, operand.dims[axis].size) : std::nullopt;
    values.push_back(getValue(operand));
  }
  if (!sum)
    return failure();
  dims[axis] = getDim(*sum);
  RankedTensorType type = getType(dims, operands.front().elementType);
  return make(tensor::ConcatOp::create(builder, loc, type, axis, values), dims);
}
