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

LogicalResult GraphBuilder::requireAtLeast(AffineExpr a, AffineExpr b) {
  if (isAtLeast(a, b))
    return success();
  // Longer arrays are never read.
  constexpr int64_t longest = int64_t(1) << 31;
  std::optional<SymbolMinimum> minimum = solveAtLeast(a, b);
  if (!minimum || minimum->value > longest)
    return failure();
  minSizes.resize(symbols.size(), 1);
  int64_t &least = minSizes[minimum->symbol];
  least = std::max(least, minimum->value);
  return success();
}

int GraphBuilder::getOrigin(const Dim &dim) const {
  return dim.factors.size() == 1 ? dim.factors.front().origin : -1;
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
  int origin = axes.add();
  dim.factors.front().origin = origin;
  if (auto symbol = dyn_cast<AffineSymbolExpr>(size))
    symbolOrigins[symbol.getPosition()] = origin;
  return dim;
}

SmallVector<Dim> GraphBuilder::makePinnedDims(ArrayRef<int64_t> sizes) {
  SmallVector<Dim> dims = getDims(sizes);
  for (Dim &dim : dims)
    if (!dim.isOne())
      dim.factors.front().origin = axes.add(Pinned);
  return dims;
}

void GraphBuilder::mark(const Dim &dim, AxisFact fact) {
  if (fact == Mixed && !recordsMixing)
    return;
  // An axis with one position cannot be mixed or cut.
  for (const Factor &factor : dim.factors)
    if (getConstant(factor.size) != 1)
      axes.mark(factor.origin, fact);
}

void GraphBuilder::markSize(AffineExpr size) {
  size.walk([&](AffineExpr expr) {
    if (isa<AffineSymbolExpr>(expr))
      mark(getDim(expr), Mixed);
  });
}

Dim GraphBuilder::mergeOrigins(const Dim &a, const Dim &b) {
  if (a.factors.size() != b.factors.size()) {
    // The factors of one dimension correspond to parts of the other.
    auto isKnown = [](const Factor &factor) { return factor.origin >= 0; };
    if (llvm::any_of(a.factors, isKnown) && llvm::any_of(b.factors, isKnown)) {
      mark(a, Cut);
      mark(b, Cut);
    }
    return a.factors.size() > b.factors.size() ? a : b;
  }
  Dim merged = a;
  for (auto [factor, other] : llvm::zip(merged.factors, b.factors)) {
    if (factor.size != other.size) {
      axes.mark(factor.origin, Cut);
      axes.mark(other.origin, Cut);
    } else if (factor.origin < 0) {
      factor.origin = other.origin;
    } else {
      axes.unite(factor.origin, other.origin);
    }
  }
  return merged;
}

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

Tensor GraphBuilder::make(Value value, ArrayRef<Dim> dims) {
  SmallVector<int> found;
  for (const Dim &dim : dims)
    for (const Factor &factor : dim.factors)
      if (getConstant(factor.size) != 1)
        found.push_back(factor.origin);
  axes.addTensor(found);
  return Tensor{cast<RankedTensorType>(value.getType()).getElementType(), SmallVector<Dim>(dims),
                value, std::nullopt};
}

Tensor GraphBuilder::makeConstant(DenseElementsAttr attribute) {
  auto type = cast<RankedTensorType>(attribute.getType());
  Tensor tensor{type.getElementType(),
                attribute.isSplat() ? getDims(type.getShape()) : makePinnedDims(type.getShape()),
                {},
                std::nullopt};
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
  return Tensor{elementType,
                llvm::all_equal(elements) ? getDims(shape) : makePinnedDims(shape),
                {},
                SmallVector<AffineExpr>(elements)};
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
    markSize(expr);
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
  markSize(size);
  Type type = builder.getF32Type();
  Value integer =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                 getValueOrCreateConstantIndexOp(builder, loc, getSize(size)));
  Value number = arith::SIToFPOp::create(builder, loc, type, integer);
  return make(tensor::FromElementsOp::create(builder, loc, RankedTensorType::get({}, type), number),
              {});
}
