//===- ArrayChecks.cpp - checks of the values in arrays -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Files/ArrayChecks.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <limits>

using namespace bppsa::runtime;

std::string bppsa::runtime::position(int64_t flat, const std::vector<int64_t> &shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; flat /= shape[axis])
    index[axis] = flat % shape[axis];
  return list(index);
}

void bppsa::runtime::requireFinite(const Array &array) {
  const auto *bits = array.as<uint32_t>();
  constexpr uint32_t exponent = 0x7f800000;
  // Blocks without an early exit are checked several elements at a time.
  constexpr int64_t block = 4096;
  for (int64_t first = 0, size = array.elements(); first < size; first += block) {
    int64_t end = std::min(first + block, size);
    bool bad = false;
    for (int64_t i = first; i < end; ++i)
      bad |= (bits[i] & exponent) == exponent;
    for (int64_t i = first; bad && i < end; ++i)
      if ((bits[i] & exponent) == exponent)
        fail("element ", position(i, array.shape), " is ", array.as<float>()[i],
             "; every value must be finite");
  }
}

void bppsa::runtime::requireNoNegative(const Array &array) {
  for (int64_t i = 0, size = array.elements(); i < size; ++i)
    if (array.as<float>()[i] < 0)
      fail("element ", position(i, array.shape), " is ", array.as<float>()[i],
           "; weights are 0 or more");
}

void bppsa::runtime::requireClasses(const Array &array, int64_t classes,
                                    std::optional<int64_t> ignored) {
  std::string also = ignored ? text(", or ", *ignored, " where there is none") : "";
  auto check = [&](const auto *values) {
    for (int64_t i = 0, size = array.elements(); i < size; ++i)
      if ((values[i] < 0 || values[i] >= classes) && (!ignored || values[i] != *ignored))
        fail("element ", position(i, array.shape), " is ", values[i], "; class indices are 0 to ",
             classes - 1, also);
  };
  array.dtype == DType::I64 ? check(array.as<int64_t>()) : check(array.as<int32_t>());
}

template <typename To, typename From> static void convertIntegers(const Array &from, Array &to) {
  for (int64_t i = 0, size = from.elements(); i < size; ++i) {
    From value = from.as<From>()[i];
    bool fits =
        std::is_signed_v<From>
            ? static_cast<int64_t>(value) >= std::numeric_limits<To>::min() &&
                  static_cast<int64_t>(value) <= std::numeric_limits<To>::max()
            : static_cast<uint64_t>(value) <= static_cast<uint64_t>(std::numeric_limits<To>::max());
    if (!fits)
      fail("element ", position(i, from.shape), " is ", value, ", which does not fit into ",
           numpyName(to.dtype));
    to.as<To>()[i] = static_cast<To>(value);
  }
}

template <typename To> static void convertFrom(const Array &from, Array &to) {
  switch (from.dtype) {
  case DType::I8:
    return convertIntegers<To, int8_t>(from, to);
  case DType::I16:
    return convertIntegers<To, int16_t>(from, to);
  case DType::I32:
    return convertIntegers<To, int32_t>(from, to);
  case DType::I64:
    return convertIntegers<To, int64_t>(from, to);
  case DType::U8:
    return convertIntegers<To, uint8_t>(from, to);
  case DType::U16:
    return convertIntegers<To, uint16_t>(from, to);
  case DType::U32:
    return convertIntegers<To, uint32_t>(from, to);
  default:
    return convertIntegers<To, uint64_t>(from, to);
  }
}

void bppsa::runtime::requireConvertible(DType found, DType wanted) {
  if (found != wanted && (!isInteger(wanted) || !isInteger(found)))
    fail("found ", numpyName(found), ", expected ", numpyName(wanted),
         "; convert it with .astype(numpy.", numpyName(wanted), ")");
}

Array bppsa::runtime::convert(Array array, DType wanted) {
  requireConvertible(array.dtype, wanted);
  if (array.dtype == wanted)
    return array;
  Array result{wanted, array.shape, Buffer(array.elements() * elementSize(wanted))};
  wanted == DType::I64 ? convertFrom<int64_t>(array, result) : convertFrom<int32_t>(array, result);
  return result;
}
