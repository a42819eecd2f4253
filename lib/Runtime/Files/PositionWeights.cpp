//===- PositionWeights.cpp - Weights of loss positions --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Files/PositionWeights.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>

using namespace bppsa::runtime;

static bool isSame(const Extent &a, const Extent &b) {
  return a.kind == b.kind && a.number == b.number && a.symbol == b.symbol && a.op == b.op &&
         std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(),
                    isSame);
}

const ArrayInfo *bppsa::runtime::findLengths(const Model &model, const LossInfo &loss) {
  const ArrayInfo &target = *loss.target;
  if (!target.timeAxis || !target.batchAxis)
    return nullptr;
  const Extent &steps = target.shape[*target.timeAxis];
  for (const ArrayInfo &input : model.inputs)
    if (input.batchAxis && input.shape.size() == 1 &&
        std::any_of(input.lengthBounds.begin(), input.lengthBounds.end(),
                    [&](const Extent &bound) { return isSame(bound, steps); }))
      return &input;
  return nullptr;
}

bool bppsa::runtime::derivesWeights(const Model &model, const LossInfo &loss) {
  return (model.ignoreIndex && loss.hasClasses()) || findLengths(model, loss);
}

void bppsa::runtime::ignoreTargets(const Model &model, const LossInfo &loss, std::byte *target,
                                   float *weights, int64_t positions) {
  if (!model.ignoreIndex || !loss.hasClasses())
    return;
  auto *classes = reinterpret_cast<int64_t *>(target);
  for (int64_t i = 0; i < positions; ++i)
    if (classes[i] == *model.ignoreIndex)
      classes[i] = 0, weights[i] = 0;
}

int64_t bppsa::runtime::elementAt(const std::byte *data, DType dtype, int64_t i) {
  return dtype == DType::I64 ? reinterpret_cast<const int64_t *>(data)[i]
                             : reinterpret_cast<const int32_t *>(data)[i];
}

void Dataset::maskPositions(const Column &column, const Block &block, Buffer &target,
                            Buffer &weight) const {
  const LossInfo &loss = model->losses[lossOf(column)];
  auto elements = static_cast<int64_t>(weight.size() / sizeof(float));
  ignoreTargets(*model, loss, target.data(), weight.floats(), elements);
  float *weights = weight.floats();
  const ArrayInfo *info = findLengths(*model, loss);
  if (!info)
    return;
  size_t lengths = std::find_if(columns.begin(), columns.end(),
                                [&](const Column &column) { return column.info == info; }) -
                   columns.begin();
  int64_t timeAxis = *column.info->timeAxis, inner = 1;
  for (size_t axis = timeAxis + 1; axis < column.shape.size(); ++axis)
    if (static_cast<int64_t>(axis) != *column.info->batchAxis)
      inner *= column.shape[axis];
  int64_t steps = column.shape[timeAxis], sample = column.sampleElements();
  int64_t first = isShared(column) ? ownSteps.first : 0;
  for (int64_t i = 0; i < elements; ++i)
    if (first + i / inner % steps >=
        elementAt(values(block, lengths), columns[lengths].dtype, i / sample))
      weights[i] = 0;
}

bool Dataset::isWeighted(size_t number) const {
  const LossInfo &loss = model->losses[number];
  return loss.weight && ((loss.hasClasses() && !model->classWeights.empty()) ||
                         std::any_of(columns.begin(), columns.end(), [&](const Column &column) {
                           return column.slot == slotOf(number) + 1;
                         }));
}

bool Dataset::isWeighted() const {
  for (size_t i = 0; i < model->losses.size(); ++i)
    if (isWeighted(i))
      return true;
  return false;
}

void Dataset::weigh(Batch &batch) const {
  weighLosses(*model, batch, [this](size_t number) { return isWeighted(number); });
}

void bppsa::runtime::weighLosses(const Model &model, Batch &batch,
                                 const std::function<bool(size_t)> &isWeighted) {
  for (size_t i = 0; i < batch.losses.size(); ++i) {
    Batch::Loss &loss = batch.losses[i];
    const LossInfo &info = model.losses[i];
    loss.lossWeight = static_cast<double>(batch.samples);
    loss.positions = static_cast<double>(loss.target.elements());
    if (!isWeighted(i))
      continue;
    const float *weights = loss.weight.as<float>();
    bool hasClassWeights = info.hasClasses() && !model.classWeights.empty();
    const int64_t *classes = hasClassWeights ? loss.target.as<int64_t>() : nullptr;
    loss.lossWeight = loss.positions = 0;
    for (int64_t p = 0, size = loss.weight.elements(); p < size; ++p) {
      double ofClass = classes ? model.classWeights[classes[p]] : 1;
      loss.lossWeight += ofClass * weights[p];
      loss.positions += weights[p];
    }
  }
}

std::vector<double> Batch::lossWeights() const {
  std::vector<double> weights;
  for (const Loss &loss : losses)
    weights.push_back(loss.lossWeight);
  return weights;
}

void Batch::requireWeight(const std::string &what) const {
  if (std::all_of(losses.begin(), losses.end(),
                  [](const Loss &loss) { return loss.lossWeight == 0; }))
    refuseWithoutWeight(what);
}

void Batch::refuseWithoutWeight(const std::string &what) {
  fail("every position of ", what,
       " has the weight 0, so it has no loss; give positions a weight, remove these samples "
       "or take larger batches");
}

void Dataset::requireWeight(const Batch &batch, const std::string &what) const {
  batch.requireWeight(text(what, " of ", title()));
}
