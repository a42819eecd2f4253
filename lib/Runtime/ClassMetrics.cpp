//===- ClassMetrics.cpp - Classification metrics --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ClassMetrics.h"
#include "bppsa/Program/Losses.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Variants/Dispatch.h"

#include <algorithm>
#include <cmath>

using namespace bppsa::runtime;
using nlohmann::ordered_json;

bool ClassMetrics::accepts(const LossInfo &loss) {
  return loss.hasClasses() || program::hasLogits(loss.kind);
}

ClassMetrics::ClassMetrics(Session &session, const Dataset &data, size_t number)
    : session(session), data(data), number(number) {
  const Model &model = session.program.model;
  const LossInfo &loss = model.losses[number];
  isBinary = !loss.hasClasses();
  isLogits = program::hasLogits(loss.kind);
  for (const ArrayInfo &info : model.outputs)
    if (info.name == loss.output)
      output = &info;
  if (!isBinary)
    classes = static_cast<size_t>(*loss.target->classes);
  confusion.assign(classes, std::vector<double>(classes));
  scores.resize(classes);
}

void ClassMetrics::infer(Batch &batch) {
  const Model &model = session.program.model;
  if (samples != batch.samples) {
    samples = batch.samples;
    outputs.clear();
    ViewTable views;
    for (const ArrayInfo &info : model.outputs) {
      Array array{info.dtype, model.extents(info.shape, batch.symbols), Buffer()};
      array.data = Buffer(array.elements() * elementSize(info.dtype));
      outputs.push_back(std::move(array));
      views["output:" + info.name] = {outputs.back().data.data(), outputs.back().shape,
                                      elementSize(info.dtype), Access::Write};
    }
    call = session.prepare(inferFunction(model, "auto", samples), &batch, views);
  }
  call();
}

void ClassMetrics::addPosition(int64_t truth, double weight, const double *values) {
  size_t predicted = std::max_element(values, values + classes) - values;
  confusion[truth][predicted] += weight;
  for (size_t i = 0; i < classes; ++i)
    scores[i].push_back({values[i], weight, truth == static_cast<int64_t>(i)});
}

void ClassMetrics::add(Batch &batch) {
  infer(batch);
  const Array &result = outputs[output - session.program.model.outputs.data()];
  auto &[target, weight, lossWeight, positions] = batch.losses[number];
  const float *weights = data.isWeighted(number) ? weight.as<float>() : nullptr;
  std::vector<double> values(classes);
  for (int64_t i = 0, count = target.elements(); i < count; ++i) {
    double counts = weights ? weights[i] : 1;
    if (counts == 0)
      continue;
    if (isBinary) {
      float truth = target.as<float>()[i];
      if (truth != 0 && truth != 1)
        fail("--metrics: the array ", quote(session.program.model.losses[number].target->name),
             " of ", data.title(), " holds ", truth, "; expected 0 and 1");
      // A tie predicts class 0.
      values = {-static_cast<double>(result.as<float>()[i]), result.as<float>()[i]};
      addPosition(truth == 1, counts, values.data());
      continue;
    }
    const float *first = result.as<float>() + i * static_cast<int64_t>(classes);
    std::copy_n(first, classes, values.begin());
    if (isLogits) {
      double most = *std::max_element(values.begin(), values.end()), sum = 0;
      for (double value : values)
        sum += std::exp(value - most);
      for (double &value : values)
        value -= most + std::log(sum);
    }
    bool isWide = target.dtype == DType::I64;
    addPosition(isWide ? target.as<int64_t>()[i] : target.as<int32_t>()[i], counts, values.data());
  }
}

std::optional<double> ClassMetrics::f1(size_t index) const {
  double right = confusion[index][index], truths = 0, predicted = 0;
  for (size_t i = 0; i < classes; ++i) {
    truths += confusion[index][i];
    predicted += confusion[i][index];
  }
  return truths + predicted > 0 ? std::optional<double>(2 * right / (truths + predicted))
                                : std::nullopt;
}

/// Returns the share of positive-negative pairs whose positive position has the higher score. Ties
/// count half.
std::optional<double> ClassMetrics::auc(size_t index) const {
  std::vector<Score> sorted = scores[index];
  std::sort(sorted.begin(), sorted.end(),
            [](const Score &one, const Score &other) { return one.value < other.value; });
  double below = 0, positives = 0, pairs = 0;
  for (size_t first = 0, end = 0; first < sorted.size(); first = end) {
    double positive = 0, negative = 0;
    for (; end < sorted.size() && sorted[end].value == sorted[first].value; ++end)
      (sorted[end].isPositive ? positive : negative) += sorted[end].weight;
    pairs += positive * (below + negative / 2);
    below += negative;
    positives += positive;
  }
  return positives > 0 && below > 0 ? std::optional<double>(pairs / (positives * below))
                                    : std::nullopt;
}

ordered_json ClassMetrics::toJson(const std::string &name) const {
  if (name == "confusion") {
    ordered_json rows = ordered_json::array();
    for (const std::vector<double> &row : confusion) {
      rows.push_back(ordered_json::array());
      for (double sum : row)
        rows.back().push_back(sum == std::floor(sum) ? ordered_json(static_cast<int64_t>(sum))
                                                     : ordered_json(sum));
    }
    return rows;
  }
  ordered_json all = ordered_json::array();
  double sum = 0, count = 0;
  for (size_t i = 0; i < classes; ++i) {
    std::optional<double> value = name == "f1" ? f1(i) : auc(i);
    all.push_back(value ? ordered_json(*value) : ordered_json(nullptr));
    sum += value.value_or(0);
    count += value.has_value();
  }
  return {{"macro", count > 0 ? ordered_json(sum / count) : ordered_json(nullptr)},
          {"per_class", all}};
}
