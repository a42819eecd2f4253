//===- GraphBuilder.cpp - tensors with symbolic shapes --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "GraphBuilder.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace bppsa;

SmallVector<AffineExpr> Tensor::getSizes() const {
  return llvm::map_to_vector(dims, [](const Dim &dim) { return dim.size; });
}

//===----------------------------------------------------------------------===//
// Origins of dimensions
//===----------------------------------------------------------------------===//

int GraphBuilder::findOrigin(int origin) const {
  while (origin >= 0 && origins[origin] != origin)
    origin = origins[origin];
  return origin;
}

int GraphBuilder::getOrigin(const Dim &dim) const {
  return dim.factors.size() == 1 ? findOrigin(dim.factors.front().origin) : -1;
}

Dim GraphBuilder::getDim(AffineExpr size) const {
  int origin = -1;
  if (auto symbol = dyn_cast<AffineSymbolExpr>(size))
    if (auto it = symbolOrigins.find(symbol.getPosition()); it != symbolOrigins.end())
      origin = it->second;
  return Dim{size, {Factor{size, origin}}};
}

SmallVector<Dim> GraphBuilder::getDims(ArrayRef<int64_t> sizes) const {
  return llvm::map_to_vector(sizes, [&](int64_t size) { return getDim(size); });
}

Dim GraphBuilder::makeInputDim(AffineExpr size) {
  Dim dim = getDim(size);
  if (dim.factors.front().origin >= 0)
    return dim;
  int origin = origins.size();
  origins.push_back(origin);
  dim.factors.front().origin = origin;
  if (auto symbol = dyn_cast<AffineSymbolExpr>(size))
    symbolOrigins[symbol.getPosition()] = origin;
  return dim;
}

void GraphBuilder::setRole(const Dim &dim, AxisRole role) {
  if (int origin = getOrigin(dim); origin >= 0)
    roles.push_back({origin, role});
}

AxisRole GraphBuilder::getRole(const Dim &dim) const {
  int origin = getOrigin(dim);
  if (origin < 0)
    return AxisRole::Unknown;
  for (auto [other, role] : roles)
    if (findOrigin(other) == origin)
      return role;
  return AxisRole::Unknown;
}

Dim GraphBuilder::mergeOrigins(const Dim &a, const Dim &b) {
  if (a.factors.size() != b.factors.size())
    return a.factors.size() > b.factors.size() ? a : b;
  Dim merged = a;
  for (auto [factor, other] : llvm::zip(merged.factors, b.factors)) {
    int origin = findOrigin(factor.origin), otherOrigin = findOrigin(other.origin);
    if (factor.size != other.size)
      continue;
    if (origin < 0)
      factor.origin = otherOrigin;
    else if (otherOrigin >= 0)
      origins[std::max(origin, otherOrigin)] = std::min(origin, otherOrigin);
  }
  return merged;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

void GraphBuilder::bindSymbol(unsigned position, Value tensor, int64_t index) {
  symbolSources.try_emplace(position, tensor, index);
}

FailureOr<Dim> GraphBuilder::unify(const Dim &a, const Dim &b) {
  if (a.size == b.size)
    return mergeOrigins(a, b);
  pendingBinding = solveEquality(a.size, b.size);
  return failure();
}

FailureOr<SmallVector<Dim>> GraphBuilder::broadcast(ArrayRef<Dim> a, ArrayRef<Dim> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  SmallVector<Dim> result(a);
  size_t offset = a.size() - b.size();
  for (auto [i, dim] : llvm::enumerate(b)) {
    Dim &target = result[offset + i];
    if (dim.isOne() && !target.isOne())
      continue;
    if (target.isOne() && !dim.isOne()) {
      target = dim;
      continue;
    }
    FailureOr<Dim> common = unify(target, dim);
    if (failed(common))
      return failure();
    target = *common;
  }
  return result;
}

OpFoldResult GraphBuilder::getSize(AffineExpr size) {
  if (std::optional<int64_t> constant = getConstant(size))
    return builder.getIndexAttr(*constant);
  return getSizeValue(size);
}

Value GraphBuilder::getSizeValue(AffineExpr size) {
  Value &cached = sizeValues[size];
  if (cached)
    return cached;
  if (auto symbol = dyn_cast<AffineSymbolExpr>(size)) {
    auto [tensor, index] = symbolSources.lookup(symbol.getPosition());
    return cached = tensor::DimOp::create(builder, loc, tensor, index);
  }
  SmallVector<Value> symbols;
  size.walk([&](AffineExpr expr) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
      symbols.resize(std::max<size_t>(symbols.size(), symbol.getPosition() + 1));
      symbols[symbol.getPosition()] = getSizeValue(symbol);
    }
  });
  Value value = affine::expandAffineExpr(builder, loc, size, /*dimValues=*/{}, symbols);
  return sizeValues[size] = value;
}

RankedTensorType GraphBuilder::getType(ArrayRef<Dim> dims, Type elementType) const {
  SmallVector<int64_t> shape = llvm::map_to_vector(
      dims, [](const Dim &dim) { return getConstant(dim.size).value_or(ShapedType::kDynamic); });
  return RankedTensorType::get(shape, elementType);
}

std::string GraphBuilder::describe(AffineExpr expr) const {
  std::string printed, text;
  llvm::raw_string_ostream(printed) << expr;
  // Symbols are printed as s0, s1, ...
  for (StringRef rest = printed; !rest.empty();) {
    StringRef number = rest.drop_front().take_while(llvm::isDigit);
    unsigned position;
    if (rest.front() == 's' && !number.getAsInteger(10, position)) {
      text += symbols[position];
      rest = rest.drop_front(1 + number.size());
      continue;
    }
    text += rest.front();
    rest = rest.drop_front();
  }
  return text;
}

std::string GraphBuilder::describe(ArrayRef<AffineExpr> exprs) const {
  std::string text = "[";
  for (auto [i, expr] : llvm::enumerate(exprs))
    text += (i == 0 ? "" : ", ") + describe(expr);
  return text + "]";
}

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

Tensor GraphBuilder::make(Value value, ArrayRef<Dim> dims) {
  return Tensor{cast<RankedTensorType>(value.getType()).getElementType(), SmallVector<Dim>(dims),
                value, std::nullopt};
}

Tensor GraphBuilder::makeConstant(DenseElementsAttr attribute) {
  auto type = cast<RankedTensorType>(attribute.getType());
  Tensor tensor{type.getElementType(), getDims(type.getShape()), {}, std::nullopt};
  constexpr int64_t maxElements = 1024;
  if (isa<IntegerType>(type.getElementType()) && type.getNumElements() <= maxElements) {
    bool isBool = type.getElementType().isInteger(1);
    tensor.elements.emplace();
    for (const APInt &value : attribute.getValues<APInt>())
      tensor.elements->push_back(
          getExpr(isBool ? static_cast<int64_t>(value.getZExtValue()) : value.getSExtValue()));
    return tensor;
  }
  tensor.value = arith::ConstantOp::create(builder, loc, attribute);
  return tensor;
}

Tensor GraphBuilder::makeElements(Type elementType, ArrayRef<int64_t> shape,
                                  ArrayRef<AffineExpr> elements) {
  return Tensor{elementType, getDims(shape), {}, SmallVector<AffineExpr>(elements)};
}

Value GraphBuilder::getValue(const Tensor &tensor) {
  if (tensor.value)
    return tensor.value;
  RankedTensorType type = getType(tensor.dims, tensor.elementType);
  auto width = cast<IntegerType>(tensor.elementType).getWidth();
  if (llvm::all_of(*tensor.elements, [](AffineExpr expr) { return getConstant(expr); })) {
    SmallVector<APInt> values = llvm::map_to_vector(*tensor.elements, [&](AffineExpr expr) {
      return APInt(width, *getConstant(expr), /*isSigned=*/true, /*implicitTrunc=*/true);
    });
    return arith::ConstantOp::create(builder, loc, DenseIntElementsAttr::get(type, values));
  }
  SmallVector<Value> values;
  for (AffineExpr expr : *tensor.elements) {
    Value value = getValueOrCreateConstantIndexOp(builder, loc, getSize(expr));
    values.push_back(arith::IndexCastOp::create(builder, loc, tensor.elementType, value));
  }
  return tensor::FromElementsOp::create(builder, loc, type, values);
}

Value GraphBuilder::makeEmpty(ArrayRef<Dim> dims, Type elementType) {
  SmallVector<OpFoldResult> sizes =
      llvm::map_to_vector(dims, [&](const Dim &dim) { return getSize(dim.size); });
  return tensor::EmptyOp::create(builder, loc, sizes, elementType);
}

Tensor GraphBuilder::makeFilled(ArrayRef<Dim> dims, TypedAttr element) {
  Value scalar = arith::ConstantOp::create(builder, loc, element);
  Value empty = makeEmpty(dims, element.getType());
  return make(linalg::FillOp::create(builder, loc, scalar, empty).getResult(0), dims);
}

Tensor GraphBuilder::makeSizeAsFloat(AffineExpr size) {
  Type type = builder.getF32Type();
  Value integer =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                 getValueOrCreateConstantIndexOp(builder, loc, getSize(size)));
  Value number = arith::SIToFPOp::create(builder, loc, type, integer);
  return make(tensor::FromElementsOp::create(builder, loc, RankedTensorType::get({}, type), number),
              {});
}

//===----------------------------------------------------------------------===//
// Elementwise ops and reductions
//===----------------------------------------------------------------------===//

Value GraphBuilder::collapseOnes(const Tensor &operand, ArrayRef<bool> collapsed) {
  Value value = getValue(operand);
  if (!llvm::is_contained(collapsed, true))
    return value;
  // Each group is one kept dimension with the collapsed ones after it; those
  // before the first kept one belong to its group.
  SmallVector<ReassociationIndices> groups;
  SmallVector<Dim> kept;
  ReassociationIndices leading;
  for (auto [i, dim] : llvm::enumerate(operand.dims)) {
    if (!collapsed[i]) {
      kept.push_back(dim);
      groups.push_back(std::exchange(leading, {}));
      groups.back().push_back(i);
    } else if (groups.empty()) {
      leading.push_back(i);
    } else {
      groups.back().push_back(i);
    }
  }
  return builder.createOrFold<tensor::CollapseShapeOp>(loc, getType(kept, operand.elementType),
                                                       value, groups);
}

static Value makeGeneric(OpBuilder &builder, Location loc, ValueRange inputs, Value init,
                         ArrayRef<AffineMap> maps, GraphBuilder::Body body) {
  SmallVector<utils::IteratorType> iterators(maps.front().getNumDims(),
                                             utils::IteratorType::reduction);
  for (AffineExpr expr : maps.back().getResults())
    iterators[cast<AffineDimExpr>(expr).getPosition()] = utils::IteratorType::parallel;
  auto generic = linalg::GenericOp::create(
      builder, loc, init.getType(), inputs, init, maps, iterators,
      [&](OpBuilder &nested, Location location, ValueRange arguments) {
        linalg::YieldOp::create(nested, location, body(nested, location, arguments));
      });
  return generic.getResult(0);
}

FailureOr<Tensor> GraphBuilder::makeElementwise(ArrayRef<Tensor> operands, Type elementType,
                                                Body body) {
  SmallVector<Dim> dims;
  for (const Tensor &operand : operands) {
    FailureOr<SmallVector<Dim>> common = broadcast(dims, operand.dims);
    if (failed(common))
      return failure();
    dims = *common;
  }
  int64_t rank = dims.size();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const Tensor &operand : operands) {
    SmallVector<bool> collapsed;
    SmallVector<AffineExpr> results;
    for (auto [i, dim] : llvm::enumerate(operand.dims)) {
      int64_t position = rank - operand.getRank() + i;
      collapsed.push_back(dim.isOne() && !dims[position].isOne());
      if (!collapsed.back())
        results.push_back(builder.getAffineDimExpr(position));
    }
    inputs.push_back(collapseOnes(operand, collapsed));
    maps.push_back(AffineMap::get(rank, 0, results, getContext()));
  }
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  return make(makeGeneric(builder, loc, inputs, makeEmpty(dims, elementType), maps, body), dims);
}

FailureOr<Tensor> GraphBuilder::makeBroadcast(const Tensor &operand, ArrayRef<Dim> dims) {
  if (operand.getRank() == static_cast<int64_t>(dims.size()) &&
      llvm::all_of(llvm::zip(operand.dims, dims),
                   [](auto pair) { return std::get<0>(pair).size == std::get<1>(pair).size; }))
    return operand;
  // An operand without a value would only give its shape: the map of the
  // result does, and its broadcast with `operand` must be `dims`.
  FailureOr<SmallVector<Dim>> common = broadcast(dims, operand.dims);
  if (failed(common))
    return failure();
  int64_t rank = common->size();
  SmallVector<bool> collapsed;
  SmallVector<AffineExpr> results;
  for (auto [i, dim] : llvm::enumerate(operand.dims)) {
    int64_t position = rank - operand.getRank() + i;
    collapsed.push_back(dim.isOne() && !(*common)[position].isOne());
    if (!collapsed.back())
      results.push_back(builder.getAffineDimExpr(position));
  }
  AffineMap maps[] = {AffineMap::get(rank, 0, results, getContext()),
                      builder.getMultiDimIdentityMap(rank)};
  Value value = makeGeneric(
      builder, loc, collapseOnes(operand, collapsed), makeEmpty(*common, operand.elementType), maps,
      [](OpBuilder &, Location, ValueRange arguments) { return arguments[0]; });
  return make(value, *common);
}

Tensor GraphBuilder::makeReduction(const Tensor &operand, ArrayRef<int64_t> axes, TypedAttr neutral,
                                   Body body) {
  SmallVector<Dim> kept;
  SmallVector<AffineExpr> results;
  for (auto [i, dim] : llvm::enumerate(operand.dims)) {
    if (llvm::is_contained(axes, static_cast<int64_t>(i)))
      continue;
    kept.push_back(dim);
    results.push_back(builder.getAffineDimExpr(i));
  }
  int64_t rank = operand.getRank();
  AffineMap maps[] = {builder.getMultiDimIdentityMap(rank),
                      AffineMap::get(rank, 0, results, getContext())};
  Value init = makeFilled(kept, neutral).value;
  Value value = makeGeneric(builder, loc, getValue(operand), init, maps, body);
  return make(value, kept);
}

Tensor GraphBuilder::makeSum(const Tensor &operand, ArrayRef<int64_t> axes) {
  Tensor sum =
      makeReduction(operand, axes, builder.getF32FloatAttr(0),
                    [](OpBuilder &nested, Location location, ValueRange arguments) {
                      return arith::AddFOp::create(nested, location, arguments[0], arguments[1]);
                    });
  return makeUnsqueeze(sum, axes);
}

Tensor GraphBuilder::makeMaximum(const Tensor &operand, ArrayRef<int64_t> axes) {
  APFloat infinity = APFloat::getInf(APFloat::IEEEsingle(), /*Negative=*/true);
  Tensor maximum = makeReduction(
      operand, axes, builder.getFloatAttr(builder.getF32Type(), infinity),
      [](OpBuilder &nested, Location location, ValueRange arguments) {
        return arith::MaximumFOp::create(nested, location, arguments[0], arguments[1]);
      });
  maximum.value = StopGradientOp::create(builder, loc, maximum.value);
  return makeUnsqueeze(maximum, axes);
}

Tensor GraphBuilder::makeContraction(const Tensor &lhs, const Tensor &rhs, ArrayRef<Dim> dims,
                                     ArrayRef<AffineMap> maps) {
  Value init = makeFilled(dims, builder.getF32FloatAttr(0)).value;
  Value value =
      makeGeneric(builder, loc, {getValue(lhs), getValue(rhs)}, init, maps,
                  [](OpBuilder &nested, Location location, ValueRange arguments) -> Value {
                    Value product =
                        arith::MulFOp::create(nested, location, arguments[0], arguments[1]);
                    return arith::AddFOp::create(nested, location, arguments[2], product);
                  });
  return make(value, dims);
}

Tensor GraphBuilder::makeTranspose(const Tensor &operand, ArrayRef<int64_t> permutation) {
  SmallVector<Dim> dims;
  SmallVector<AffineExpr> results(operand.getRank());
  bool isIdentity = true;
  for (auto [i, axis] : llvm::enumerate(permutation)) {
    dims.push_back(operand.dims[axis]);
    results[axis] = builder.getAffineDimExpr(i);
    isIdentity &= axis == static_cast<int64_t>(i);
  }
  if (isIdentity)
    return operand;
  AffineMap maps[] = {AffineMap::get(operand.getRank(), 0, results, getContext()),
                      builder.getMultiDimIdentityMap(operand.getRank())};
  Value value =
      makeGeneric(builder, loc, getValue(operand), makeEmpty(dims, operand.elementType), maps,
                  [](OpBuilder &, Location, ValueRange arguments) { return arguments[0]; });
  return make(value, dims);
}

//===----------------------------------------------------------------------===//
// Changes of shape
//===----------------------------------------------------------------------===//

/// One group of dimensions that a Reshape merges and splits: source dimensions
/// `[sourceBegin, sourceEnd)` become target dimensions `[targetBegin, targetEnd)`.
namespace {
struct ReshapeGroup {
  size_t sourceBegin, sourceEnd, targetBegin, targetEnd;
};
} // namespace

/// Splits a Reshape into the smallest groups of equal products.
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
  // What is left has size 1.
  if (!groups.empty()) {
    groups.back().sourceEnd = source.size();
    groups.back().targetEnd = target.size();
  }
  return groups;
}

/// Gives the target dimensions of a group the factors of its source dimensions,
/// in order, as far as the sizes match.
static void assignFactors(ArrayRef<Dim> source, MutableArrayRef<Dim> target) {
  SmallVector<Factor> factors;
  for (const Dim &dim : source)
    factors.append(dim.factors.begin(), dim.factors.end());
  size_t next = 0;
  auto isOne = [&](size_t i) { return i < factors.size() && getConstant(factors[i].size) == 1; };
  for (Dim &dim : target) {
    if (dim.isOne()) {
      // Of several ones, that of a known axis is the one that matters.
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
      rest = divideExactly(*rest, factors[next].size);
      taken.push_back(factors[next]);
    }
    if (!rest || getConstant(*rest) != 1)
      return;
    dim.factors = taken;
  }
}

static SmallVector<ReassociationIndices> getIndices(ArrayRef<ReshapeGroup> groups, bool source) {
  return llvm::map_to_vector(groups, [&](const ReshapeGroup &group) {
    auto range = source ? llvm::seq<int64_t>(group.sourceBegin, group.sourceEnd)
                        : llvm::seq<int64_t>(group.targetBegin, group.targetEnd);
    return ReassociationIndices(range.begin(), range.end());
  });
}

/// The shape of `type` with each group of dimensions merged into one.
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
    assignFactors(source, found);
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
    value = builder.createOrFold<tensor::CollapseShapeOp>(loc, merged, value, sources);
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
  dims[axis] = getDim(size);
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

FailureOr<Tensor> GraphBuilder::makeConcat(ArrayRef<Tensor> operands, int64_t axis) {
  SmallVector<Dim> dims = operands.front().dims;
  SmallVector<Value> values = {getValue(operands.front())};
  if (operands.size() == 1)
    return operands.front();
  for (const Tensor &operand : operands.drop_front()) {
    for (auto [i, dim] : llvm::enumerate(operand.dims)) {
      if (static_cast<int64_t>(i) == axis) {
        MaybeExpr sum = addExprs(dims[i].size, dim.size);
        if (!sum)
          return failure();
        dims[i] = getDim(*sum);
        continue;
      }
      FailureOr<Dim> common = unify(dims[i], dim);
      if (failed(common))
        return failure();
      dims[i] = *common;
    }
    values.push_back(getValue(operand));
  }
  RankedTensorType type = getType(dims, operands.front().elementType);
  return make(tensor::ConcatOp::create(builder, loc, type, axis, values), dims);
}
