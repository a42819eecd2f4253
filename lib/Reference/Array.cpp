//===- Array.cpp - values of the reference interpreter --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Reference/Array.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace bppsa;

static int64_t countElements(ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

static Array makeFilled(ArrayRef<int64_t> shape, bool isFloat, double real, int64_t integer) {
  Array array;
  array.shape.assign(shape.begin(), shape.end());
  array.isFloat = isFloat;
  if (isFloat)
    array.reals.assign(countElements(shape), real);
  else
    array.integers.assign(countElements(shape), integer);
  return array;
}

Array Array::makeScalar(double value) { return makeFilled({}, true, value, 0); }
Array Array::makeIndex(int64_t value) { return makeFilled({}, false, 0, value); }

Array Array::makeUninitialized(ArrayRef<int64_t> shape, bool isFloat) {
  return makeFilled(shape, isFloat, std::numeric_limits<double>::quiet_NaN(), 0x5a5a5a5a);
}

Array Array::makeZeros(ArrayRef<int64_t> shape, bool isFloat) {
  return makeFilled(shape, isFloat, 0, 0);
}

static double toDouble(APFloat value) {
  bool losesInfo = false;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

static int64_t toInteger(const APInt &value) {
  return value.getBitWidth() == 1 ? static_cast<int64_t>(value.getZExtValue())
                                  : value.getSExtValue();
}

std::optional<Array> Array::fromAttribute(TypedAttr attribute) {
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return makeScalar(toDouble(real.getValue()));
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return makeIndex(toInteger(integer.getValue()));
  auto elements = dyn_cast<ElementsAttr>(attribute);
  if (!elements)
    return std::nullopt;
  Array array;
  array.shape = getValueShape(attribute.getType());
  array.isFloat = isFloatValue(attribute.getType());
  if (array.isFloat) {
    auto values = elements.tryGetValues<APFloat>();
    if (!values)
      return std::nullopt;
    for (const APFloat &value : *values)
      array.reals.push_back(toDouble(value));
    return array;
  }
  auto values = elements.tryGetValues<APInt>();
  if (!values)
    return std::nullopt;
  for (const APInt &value : *values)
    array.integers.push_back(toInteger(value));
  return array;
}

int64_t Array::getNumElements() const { return countElements(shape); }

int64_t Array::getPosition(ArrayRef<int64_t> index) const {
  int64_t position = 0;
  for (auto [size, i] : llvm::zip_equal(shape, index))
    position = position * size + i;
  return position;
}

void Array::copyElement(int64_t to, const Array &source, int64_t from) {
  if (isFloat)
    reals[to] = source.reals[from];
  else
    integers[to] = source.integers[from];
}

Array Array::slice(int64_t first, ArrayRef<int64_t> sliceShape) const {
  Array result;
  result.shape.assign(sliceShape.begin(), sliceShape.end());
  result.isFloat = isFloat;
  int64_t count = countElements(sliceShape);
  if (isFloat)
    result.reals.assign(reals.begin() + first, reals.begin() + first + count);
  else
    result.integers.assign(integers.begin() + first, integers.begin() + first + count);
  return result;
}

SmallVector<int64_t, 4> bppsa::getValueShape(Type type) {
  if (auto jacobian = dyn_cast<jacobian::MatrixType>(type))
    type = jacobian.getDenseType();
  if (auto shaped = dyn_cast<ShapedType>(type))
    return SmallVector<int64_t, 4>(shaped.getShape());
  return {};
}

bool bppsa::isFloatValue(Type type) {
  return isa<jacobian::MatrixType>(type) || isa<FloatType>(getElementTypeOrSelf(type));
}

void bppsa::forEachElementIndex(ArrayRef<int64_t> shape,
                                function_ref<void(ArrayRef<int64_t>)> body) {
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t left = countElements(shape); left > 0; --left) {
    body(index);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis])
        break;
      index[axis] = 0;
    }
  }
}
