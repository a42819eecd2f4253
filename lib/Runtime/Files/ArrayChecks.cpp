//===- ArrayChecks.cpp - Checks of the values in arrays -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Files/ArrayChecks.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace bppsa::runtime;

std::string bppsa::runtime::position(int64_t flat, const std::vector<int64_t> &shape,
                                     const std::vector<int64_t> &begin) {
  std::vector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; flat /= shape[axis])
    index[axis] = flat % shape[axis] + (begin.empty() ? 0 : begin[axis]);
  return list(index);
}

void bppsa::runtime::requireFinite(const float *values, int64_t count, const Position &position) {
  const auto *bits = reinterpret_cast<const uint32_t *>(values);
  constexpr uint32_t exponent = 0x7f800000;
  // Without early exit, the check of a block is vectorized.
  constexpr int64_t block = 4096;
  for (int64_t first = 0; first < count; first += block) {
    int64_t end = std::min(first + block, count);
    bool bad = false;
    for (int64_t i = first; i < end; ++i)
      bad |= (bits[i] & exponent) == exponent;
    for (int64_t i = first; bad && i < end; ++i)
      if ((bits[i] & exponent) == exponent)
        fail("element ", position(i), " is ", values[i], "; every value must be finite");
  }
}

void bppsa::runtime::requireNoNegative(const float *values, int64_t count,
                                       const Position &position) {
  for (int64_t i = 0; i < count; ++i)
    if (values[i] < 0)
      fail("element ", position(i), " is ", values[i], "; weights are 0 or more");
}

template <typename Visit>
static void withIntegers(const std::byte *values, DType dtype, Visit &&visit) {
  dtype == DType::I64 ? visit(reinterpret_cast<const int64_t *>(values))
                      : visit(reinterpret_cast<const int32_t *>(values));
}

void bppsa::runtime::requireClasses(const std::byte *values, DType dtype, int64_t count,
                                    int64_t classes, std::optional<int64_t> ignored,
                                    const Position &position) {
  std::string also = ignored ? text(", or ", *ignored, " but is not given") : "";
  withIntegers(values, dtype, [&](const auto *integers) {
    for (int64_t i = 0; i < count; ++i)
      if ((integers[i] < 0 || integers[i] >= classes) && (!ignored || integers[i] != *ignored))
        fail("element ", position(i), " is ", integers[i], "; class indices are 0 to ", classes - 1,
             also);
  });
}

void bppsa::runtime::requireBetween(const std::byte *values, DType dtype, int64_t count,
                                    int64_t least, int64_t most, const char *meaning,
                                    const Position &position) {
  withIntegers(values, dtype, [&](const auto *integers) {
    for (int64_t i = 0; i < count; ++i)
      if (integers[i] < least || integers[i] > most)
        fail("element ", position(i), " is ", integers[i], ", but the model takes it as ", meaning,
             "; expected ", least, " to ", most);
  });
}

template <typename To, typename From>
static void convertIntegers(const std::byte *source, std::byte *result, int64_t count,
                            const Position &position) {
  const auto *from = reinterpret_cast<const From *>(source);
  auto *to = reinterpret_cast<To *>(result);
  for (int64_t i = 0; i < count; ++i) {
    From value = from[i];
    bool fits =
        std::is_signed_v<From>
            ? static_cast<int64_t>(value) >= std::numeric_limits<To>::min() &&
                  static_cast<int64_t>(value) <= std::numeric_limits<To>::max()
            : static_cast<uint64_t>(value) <= static_cast<uint64_t>(std::numeric_limits<To>::max());
    if (!fits)
      fail("element ", position(i), " is ", value, ", which does not fit into ",
           std::is_same_v<To, int64_t> ? "int64" : "int32");
    to[i] = static_cast<To>(value);
  }
}

template <typename To>
static void convertFrom(const std::byte *from, DType found, std::byte *to, int64_t count,
                        const Position &position) {
  switch (found) {
  case DType::I8:
    return convertIntegers<To, int8_t>(from, to, count, position);
  case DType::I16:
    return convertIntegers<To, int16_t>(from, to, count, position);
  case DType::I32:
    return convertIntegers<To, int32_t>(from, to, count, position);
  case DType::I64:
    return convertIntegers<To, int64_t>(from, to, count, position);
  case DType::U8:
    return convertIntegers<To, uint8_t>(from, to, count, position);
  case DType::U16:
    return convertIntegers<To, uint16_t>(from, to, count, position);
  case DType::U32:
    return convertIntegers<To, uint32_t>(from, to, count, position);
  default:
    return convertIntegers<To, uint64_t>(from, to, count, position);
  }
}

static bool isWidened(DType found, DType wanted) {
  return found == DType::F16 && wanted == DType::F32;
}

void bppsa::runtime::requireConvertible(DType found, DType wanted) {
  if (found != wanted && !isWidened(found, wanted) && (!isInteger(wanted) || !isInteger(found)))
    fail("found ", numpyName(found), ", expected ", numpyName(wanted),
         "; convert it with .astype(numpy.", numpyName(wanted), ")");
}

static void widen(const std::byte *source, std::byte *result, int64_t count) {
  const auto *from = reinterpret_cast<const uint16_t *>(source);
  auto *to = reinterpret_cast<float *>(result);
  for (int64_t i = 0; i < count; ++i) {
    uint32_t sign = static_cast<uint32_t>(from[i] >> 15) << 31, exponent = from[i] >> 10 & 31;
    uint32_t mantissa = from[i] & 0x3ff;
    uint32_t bits = sign | (exponent == 31 ? 255 : exponent + 112) << 23 | mantissa << 13;
    memcpy(&to[i], &bits, sizeof bits);
    // Zeros and subnormals are multiples of 2^-24.
    if (exponent == 0)
      to[i] = (sign ? -1.0f : 1.0f) * static_cast<float>(mantissa) * 0x1p-24f;
  }
}

void bppsa::runtime::convert(const std::byte *from, DType found, std::byte *to, DType wanted,
                             int64_t count, const Position &position) {
  if (isWidened(found, wanted))
    return widen(from, to, count);
  wanted == DType::I64 ? convertFrom<int64_t>(from, found, to, count, position)
                       : convertFrom<int32_t>(from, found, to, count, position);
}
