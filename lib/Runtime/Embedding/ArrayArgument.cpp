//===- ArrayArgument.cpp - Arrays of a caller -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Embedding/ArrayArgument.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Files/ArrayChecks.h"

#include <cstring>

using namespace bppsa::runtime;

bool ArrayArgument::isUsable(DType wanted) const {
  return dtype == wanted && strides.empty() &&
         reinterpret_cast<uintptr_t>(data) % elementSize(dtype) == 0;
}

/// A row extends along the last axis.
template <typename Visit>
static void forEachRow(const ArrayArgument &array, size_t axis, std::byte *start, Visit &&visit) {
  if (axis + 1 >= array.shape.size())
    return visit(start);
  auto step = static_cast<int64_t>(elementSize(array.dtype)) * array.strides[axis];
  for (int64_t i = 0; i < array.shape[axis]; ++i)
    forEachRow(array, axis + 1, start + i * step, visit);
}

/// Calls `copy` for each contiguous run, with its address, offset in compact memory, and bytes.
template <typename Copy> static void copyArray(const ArrayArgument &array, Copy &&copy) {
  auto *start = static_cast<std::byte *>(array.data);
  auto size = static_cast<int64_t>(elementSize(array.dtype));
  if (array.strides.empty())
    return copy(start, int64_t(0), elementCount(array.shape) * size);
  int64_t count = array.shape.empty() ? 1 : array.shape.back(), at = 0;
  int64_t stride = array.shape.empty() ? 1 : array.strides.back();
  forEachRow(array, 0, start, [&](std::byte *row) {
    if (stride == 1)
      copy(row, at, count * size);
    for (int64_t i = 0; stride != 1 && i < count; ++i)
      copy(row + i * stride * size, at + i * size, size);
    at += count * size;
  });
}

void ArrayArgument::read(std::byte *to) const {
  copyArray(*this,
            [&](std::byte *piece, int64_t at, int64_t bytes) { memcpy(to + at, piece, bytes); });
}

void ArrayArgument::write(const std::byte *from) const {
  copyArray(*this,
            [&](std::byte *piece, int64_t at, int64_t bytes) { memcpy(piece, from + at, bytes); });
}

void bppsa::runtime::requireType(const ArrayArgument &argument, const ArrayInfo &info) {
  if (argument.dtype != info.dtype && (!isInteger(info.dtype) || !isInteger(argument.dtype)))
    fail("array ", quote(info.name), ": found ", numpyName(argument.dtype), ", expected ",
         numpyName(info.dtype));
}

static bool isWeight(const Model &model, const ArrayInfo &info) {
  for (const LossInfo &loss : model.losses)
    if (loss.weight && loss.weight->name == info.name)
      return true;
  return false;
}

void bppsa::runtime::requireValues(const Model &model, const ArrayInfo &info,
                                   const std::byte *values, const std::vector<int64_t> &shape,
                                   const Symbols &symbols) {
  int64_t count = elementCount(shape);
  Position where = [&](int64_t i) { return position(i, shape); };
  auto requireBounds = [&](const std::vector<Extent> &bounds, bool areLengths,
                           const char *meaning) {
    for (const Extent &bound : bounds)
      if (std::optional<int64_t> size = evaluate(bound, symbols))
        requireBetween(values, info.dtype, count, areLengths ? 1 : -*size,
                       areLengths ? *size : *size - 1, meaning, where);
  };
  try {
    requireBounds(info.indexBounds, false, "an index");
    requireBounds(info.lengthBounds, true, "the length of a sample");
    if (info.classes)
      requireClasses(values, info.dtype, count, *info.classes, model.ignoreIndex, where);
    if (isWeight(model, info)) {
      requireFinite(reinterpret_cast<const float *>(values), count, where);
      requireNoNegative(reinterpret_cast<const float *>(values), count, where);
    }
  } catch (const Error &error) {
    fail("array ", quote(info.name), ": ", error.what());
  }
}
