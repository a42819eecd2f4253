//===- Parameters.cpp - Parameters, gradients and optimizer states --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Training/Parameters.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace bppsa::runtime;

static constexpr int64_t kPadding = 16;

static float readElement(const unsigned char *onnx, const ParameterInfo &info, int64_t i) {
  float value;
  memcpy(&value, onnx + info.offset + i * info.stride, sizeof value);
  return value;
}

SharedFloats::SharedFloats(int64_t count)
    : memory(count * sizeof(float)), mirror(memory.data(), memory.size()) {}

const float *SharedFloats::read() const {
  mirror.fetch();
  return memory.floats();
}

float *SharedFloats::write() {
  mirror.fetch();
  mirror.hostChanged();
  return memory.floats();
}

View SharedFloats::view(int64_t start, std::vector<int64_t> shape, Access access) {
  return {memory.floats() + start, std::move(shape), sizeof(float), access, &mirror};
}

Parameters::Parameters(const Model &model, const unsigned char *onnx, bool withStates)
    : model(model), onnx(onnx) {
  int64_t trainedSize = 0, statisticsSize = 0, frozenSize = 0;
  for (const ParameterInfo &info : model.parameters) {
    int64_t &size = info.trained ? trainedSize : info.statistic ? statisticsSize : frozenSize;
    starts.push_back(size);
    size += (info.elements + kPadding - 1) / kPadding * kPadding;
  }
  trained = SharedFloats(trainedSize);
  statistics = SharedFloats(statisticsSize);
  updated = SharedFloats(statisticsSize);
  frozen = SharedFloats(frozenSize);
  gradients = SharedFloats(trainedSize);
  for (int64_t i = 0; i < (withStates ? model.optimizerStates : 0); ++i)
    states.emplace_back(trainedSize);
  for (size_t index = 0; index < model.parameters.size(); ++index) {
    const ParameterInfo &info = model.parameters[index];
    float *values = changeValues(index);
    for (int64_t i = 0; i < info.elements; ++i)
      values[i] = readElement(onnx, info, i);
  }
  bool anyPruned = std::any_of(model.parameters.begin(), model.parameters.end(),
                               [](const ParameterInfo &info) { return info.pruned; });
  if (anyPruned)
    findLiveBlocks();
}

void Parameters::findLiveBlocks() {
  for (size_t index = 0; index < model.parameters.size(); ++index) {
    const ParameterInfo &info = model.parameters[index];
    const float *first = values(index);
    for (int64_t block = 0; info.trained && block < info.elements; block += kPadding) {
      int64_t end = std::min(block + kPadding, info.elements);
      bool isLive = !info.pruned ||
                    std::any_of(first + block, first + end, [](float value) { return value != 0; });
      if (isLive)
        liveBlocks.push_back(static_cast<int32_t>((starts[index] + block) / kPadding));
    }
  }
}

void Parameters::maskPrunedGradients(size_t index) {
  const ParameterInfo &info = model.parameters[index];
  float *gradient = gradients.write() + starts[index];
  for (int64_t i = 0; info.pruned && i < info.elements; ++i)
    if (readElement(onnx, info, i) == 0)
      gradient[i] = 0;
}

const SharedFloats &Parameters::arrayOf(const ParameterInfo &info) const {
  return info.trained ? trained : info.statistic ? statistics : frozen;
}

SharedFloats &Parameters::arrayOf(const ParameterInfo &info) {
  return const_cast<SharedFloats &>(std::as_const(*this).arrayOf(info));
}

float *Parameters::changeValues(size_t index) {
  return arrayOf(model.parameters[index]).write() + starts[index];
}

const float *Parameters::values(size_t index) const {
  return arrayOf(model.parameters[index]).read() + starts[index];
}

void Parameters::acceptStatistics() {
  if (statistics.size() != 0)
    std::copy_n(updated.read(), updated.size(), statistics.write());
}

void Parameters::acceptStatistic(size_t index) {
  std::copy_n(updated.read() + starts[index], model.parameters[index].elements,
              statistics.write() + starts[index]);
}

template <typename Visit>
static void forEachFrozenRow(const Model &model, std::optional<size_t> only, Visit &&visit) {
  size_t end = only ? *only + 1 : model.parameters.size();
  for (size_t index = only.value_or(0); index < end; ++index) {
    const ParameterInfo &info = model.parameters[index];
    for (int64_t row : info.frozenRows)
      visit(index, row, info.elements / info.shape.front());
  }
}

void Parameters::maskGradients(std::optional<size_t> only) {
  forEachFrozenRow(model, only, [&](size_t index, int64_t row, int64_t size) {
    std::fill_n(gradients.write() + starts[index] + row * size, size, 0.0f);
  });
}

std::vector<float> Parameters::frozenRows(std::optional<size_t> only) const {
  std::vector<float> rows;
  forEachFrozenRow(model, only, [&](size_t index, int64_t row, int64_t size) {
    const float *first = values(index) + row * size;
    rows.insert(rows.end(), first, first + size);
  });
  return rows;
}

void Parameters::restoreRows(const std::vector<float> &rows, std::optional<size_t> only) {
  const float *next = rows.data();
  forEachFrozenRow(model, only, [&](size_t index, int64_t row, int64_t size) {
    std::copy_n(next, size, changeValues(index) + row * size);
    next += size;
  });
}

void Parameters::addTo(ViewTable &views) {
  for (size_t index = 0; index < model.parameters.size(); ++index) {
    const ParameterInfo &info = model.parameters[index];
    views["param:" + info.name] = arrayOf(info).view(starts[index], info.shape, Access::Read);
    if (info.statistic)
      views["updated:" + info.name] = updated.view(starts[index], info.shape, Access::ReadWrite);
    // ReadWrite also copies the zero padding.
    if (info.trained)
      views["grad:" + info.name] = gradients.view(starts[index], info.shape, Access::ReadWrite);
  }
  addRange(views, 0, trained.size());
}

void Parameters::addRange(ViewTable &views, int64_t start, int64_t size) {
  views["flat_params"] = trained.view(start, {size}, Access::ReadWrite);
  views["flat_grads"] = gradients.view(start, {size}, Access::Read);
  for (size_t i = 0; i < 2; ++i) {
    // Optimizers ignore surplus states.
    bool used = i < states.size();
    views["flat_state" + std::to_string(i)] = used
                                                  ? states[i].view(start, {size}, Access::ReadWrite)
                                                  : trained.view(0, {0}, Access::Read);
  }
  addLiveBlocks(views, start, size);
}

void Parameters::addLiveBlocks(ViewTable &views, int64_t start, int64_t size) {
  auto find = [&](int64_t element) {
    return std::lower_bound(liveBlocks.begin(), liveBlocks.end(), element / kPadding);
  };
  auto first = find(start), last = find(start + size);
  int32_t *blocks = liveBlocks.data();
  if (start > 0) {
    std::vector<int32_t> &own = blocksOfRanges[{start, size}];
    own.assign(first, last);
    for (int32_t &block : own)
      block -= static_cast<int32_t>(start / kPadding);
    blocks = own.data();
  }
  views["live_blocks"] = {blocks, {last - first}, sizeof *blocks, Access::Read};
}

void Parameters::addToAverage(double decay, int64_t start, int64_t size) {
  const float *values = trained.read();
  float *sums = averages.write();
  auto share = static_cast<float>(1 - decay);
  for (int64_t i = start; i < start + size; ++i)
    sums[i] += share * (values[i] - sums[i]);
}

void Parameters::restartAverage(int64_t start, int64_t size) {
  std::copy_n(trained.read() + start, size, averages.write() + start);
}

void Parameters::exchangeAverage() {
  float *values = trained.write(), *sums = averages.write();
  std::swap_ranges(values, values + trained.size(), sums);
}
