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
// Order of sizes
//===----------------------------------------------------------------------===//

LogicalResult GraphBuilder::requireAtLeast(AffineExpr a, AffineExpr b) {
  if (isAtLeast(a, b))
    return success();
  // No array that is longer than this is ever read.
  constexpr int64_t longest = int64_t(1) << 31;
  std::optional<SymbolMinimum> minimum = solveAtLeast(a, b);
  if (!minimum || minimum->value > longest)
    return failure();
  leastSizes.resize(symbols.size(), 1);
  int64_t &least = leastSizes[minimum->symbol];
  least = std::max(least, minimum->value);
  return success();
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

static Value createGeneric(OpBuilder &builder, Location loc, ValueRange inputs, Value init,
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
  return make(createGeneric(builder, loc, inputs, makeEmpty(dims, elementType), maps, body), dims);
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
  Value value = createGeneric(
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
  Value value = createGeneric(builder, loc, getValue(operand), init, maps, body);
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
  Tensor zeros = makeFilled(dims, builder.getF32FloatAttr(0));
  return makeContraction(lhs, rhs, zeros, maps);
}

Tensor GraphBuilder::makeContraction(const Tensor &lhs, const Tensor &rhs, const Tensor &init,
                                     ArrayRef<AffineMap> maps) {
  return makeGeneric({lhs, rhs}, init, maps,
                     [](OpBuilder &nested, Location location, ValueRange arguments) -> Value {
                       Value product =
                           arith::MulFOp::create(nested, location, arguments[0], arguments[1]);
                       return arith::AddFOp::create(nested, location, arguments[2], product);
                     });
}

Tensor GraphBuilder::makeGeneric(ArrayRef<Tensor> inputs, const Tensor &init,
                                 ArrayRef<AffineMap> maps, Body body) {
  SmallVector<Value> values =
      llvm::map_to_vector(inputs, [&](const Tensor &input) { return getValue(input); });
  return make(createGeneric(builder, loc, values, getValue(init), maps, body), init.dims);
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
      createGeneric(builder, loc, getValue(operand), makeEmpty(dims, operand.elementType), maps,
                    [](OpBuilder &, Location, ValueRange arguments) { return arguments[0]; });
  return make(value, dims);
}
