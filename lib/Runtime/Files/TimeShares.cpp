//===- TimeShares.cpp - Time shards of sequences --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Files/Dataset.h"

#include <algorithm>
#include <cstring>

using namespace bppsa::runtime;

static int64_t shareSteps(int64_t steps, int shares) {
  return std::max<int64_t>((steps + shares - 1) / shares, 1);
}

StepWindow TimeShardSpec::of(int64_t steps) const {
  int64_t length = shareSteps(steps, shares);
  int64_t first = std::clamp<int64_t>(number * length, 0, std::max<int64_t>(steps - 1, 0));
  return {first, std::min(length, steps - first), steps};
}

int64_t TimeShardSpec::filled(int64_t steps, int shares) {
  int64_t length = shareSteps(steps, shares);
  return (steps + length - 1) / length;
}

std::vector<int64_t> Dataset::sharedShape(const ArrayInfo &info, std::vector<int64_t> shape) {
  if (!info.timeAxis || *info.timeAxis >= static_cast<int64_t>(shape.size()))
    return shape;
  int64_t &steps = shape[*info.timeAxis];
  StepWindow window = share.of(steps);
  // Mismatching steps are detected later.
  if (ownSteps.all == 0)
    ownSteps = window;
  steps = window.count;
  return shape;
}

std::vector<int64_t> Dataset::beginOf(const Column &column, int64_t start) const {
  std::vector<int64_t> begin(column.shape.size());
  if (column.isSliced())
    begin[*column.info->batchAxis] = start;
  if (isShared(column))
    begin[*column.info->timeAxis] = ownSteps.first;
  return begin;
}

void Dataset::forEachPiece(const Column &column, const ArrayFile &file, int64_t start,
                           int64_t samples, int64_t size,
                           const std::function<void(int64_t, int64_t)> &visit) const {
  const std::vector<int64_t> &whole = file.headers.at(column.info->name).shape;
  std::vector<int64_t> begin = beginOf(column, start), extents = column.shape;
  if (column.isSliced())
    extents[*column.info->batchAxis] = samples;
  std::vector<int64_t> strides(whole.size());
  int64_t offset = 0, bytes = size, pieces = 1;
  for (size_t i = whole.size(); i-- > 0;) {
    strides[i] = i + 1 < whole.size() ? strides[i + 1] * whole[i + 1] : size;
    offset += begin[i] * strides[i];
  }
  // Elements along `axis` are contiguous.
  size_t axis = whole.size();
  while (axis > 0 && extents[axis - 1] == whole[axis - 1])
    --axis;
  axis -= axis > 0 ? 1 : 0;
  for (size_t i = 0; i < whole.size(); ++i)
    (i < axis ? pieces : bytes) *= extents[i];
  std::vector<int64_t> index(axis);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    visit(offset, bytes);
    for (size_t i = axis; i-- > 0; index[i] = 0) {
      offset += strides[i];
      if (++index[i] < extents[i])
        break;
      offset -= extents[i] * strides[i];
    }
  }
}

Array Dataset::readWhole(const Column &column, const ArrayFile &file) const {
  Array array = file.read(column.info->name);
  if (!isShared(column))
    return array;
  auto size = static_cast<int64_t>(elementSize(array.dtype));
  int64_t samples = column.isSliced() ? file.count : 1;
  Array part{array.dtype, column.shape, Buffer()};
  if (column.isSliced())
    part.shape[*column.info->batchAxis] = samples;
  part.data = Buffer::uninitialized(part.elements() * size);
  std::byte *next = part.data.data();
  forEachPiece(column, file, 0, samples, size, [&](int64_t offset, int64_t bytes) {
    memcpy(next, array.data.data() + offset, bytes);
    next += bytes;
  });
  return part;
}
