//===- PositionWeights.cpp - What the positions of a loss count -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Files/Dataset.h"

#include <algorithm>

using namespace bppsa::runtime;

static bool isSame(const Extent &a, const Extent &b) {
  return a.kind == b.kind && a.number == b.number && a.symbol == b.symbol && a.op == b.op &&
         std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(),
                    isSame);
}

const ArrayInfo *Dataset::findLengths() const {
  const ArrayInfo &target = *model->targetArray;
  if (!target.timeAxis || !target.batchAxis)
    return nullptr;
  const Extent &steps = target.shape[*target.timeAxis];
  for (const ArrayInfo &input : model->inputs)
    if (input.batchAxis && input.shape.size() == 1 &&
        std::any_of(input.lengthBounds.begin(), input.lengthBounds.end(),
                    [&](const Extent &bound) { return isSame(bound, steps); }))
      return &input;
  return nullptr;
}

bool Dataset::derivesWeights() const { return model->ignoreIndex || findLengths(); }

/// Element `i` of an array of int32 or int64.
static int64_t elementAt(const std::byte *data, DType dtype, int64_t i) {
  return dtype == DType::I64 ? reinterpret_cast<const int64_t *>(data)[i]
                             : reinterpret_cast<const int32_t *>(data)[i];
}

void Dataset::maskPositions(const Block &block, Buffer &target, Buffer &weight) const {
  const Column &column = columns.back();
  float *weights = weight.floats();
  int64_t elements = target.size() / elementSize(columns[columns.size() - 2].dtype);
  if (model->ignoreIndex) {
    auto *classes = reinterpret_cast<int64_t *>(target.data());
    for (int64_t i = 0; i < elements; ++i)
      if (classes[i] == *model->ignoreIndex)
        classes[i] = 0, weights[i] = 0;
  }
  const ArrayInfo *info = findLengths();
  if (!info)
    return;
  size_t lengths = std::find_if(columns.begin(), columns.end(),
                                [&](const Column &column) { return column.info == info; }) -
                   columns.begin();
  // A sample is contiguous, with the axes that are left in order.
  int64_t timeAxis = *column.info->timeAxis, inner = 1;
  for (size_t axis = timeAxis + 1; axis < column.shape.size(); ++axis)
    if (static_cast<int64_t>(axis) != *column.info->batchAxis)
      inner *= column.shape[axis];
  int64_t steps = column.shape[timeAxis], sample = column.sampleElements();
  for (int64_t i = 0; i < elements; ++i)
    if (i / inner % steps >= elementAt(values(block, lengths), columns[lengths].dtype, i / sample))
      weights[i] = 0;
}

bool Dataset::isWeighted() const {
  return model->weightArray && (!model->classWeights.empty() ||
                                (!columns.empty() && columns.back().info == &*model->weightArray));
}

void Dataset::weigh(Batch &batch) const {
  batch.lossWeight = static_cast<double>(batch.samples);
  batch.counted = batch.target.elements();
  if (!isWeighted() || batch.mirrors.size() == batch.inputs.size())
    return;
  const float *weights = batch.weight.as<float>();
  const int64_t *classes = model->classWeights.empty() ? nullptr : batch.target.as<int64_t>();
  batch.lossWeight = 0;
  batch.counted = 0;
  for (int64_t i = 0, size = batch.weight.elements(); i < size; ++i) {
    double ofClass = classes ? model->classWeights[classes[i]] : 1;
    batch.lossWeight += ofClass * weights[i];
    batch.counted += weights[i] != 0;
  }
}

void Dataset::requireWeight(const Batch &batch, const std::string &what) const {
  if (batch.lossWeight == 0)
    fail(
        quote(name), ": every position of ", what,
        " has the weight 0, so it has no loss; give positions a weight, leave these samples out or "
        "take larger batches");
}
