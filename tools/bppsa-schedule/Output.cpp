//===- Output.cpp - schedules as text and JSON ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Output.h"
#include <algorithm>
#include <cstdio>
#include <numeric>

using namespace bppsa::schedule;
using nlohmann::ordered_json;

/// Clamps rounding errors to zero.
static double subtract(double whole, double part) { return std::max(0.0, whole - part); }

/// Returns the time saved if transfers took none.
static double getExposedCommunication(const ScheduledPipeline &scheduled) {
  Pipeline local = scheduled.pipeline;
  for (StageCost &stage : local.stages)
    stage.hop = 0;
  return subtract(scheduled.result.span, evaluate(local, scheduled.orders).value().span);
}

ordered_json bppsa::schedule::describe(const ScheduledPipeline &scheduled) {
  const PipelineResult &result = scheduled.result;
  std::vector<double> work = getWork(result.graph.graph);
  ordered_json devices = ordered_json::array();
  for (int32_t device = 0; device < scheduled.pipeline.devices; ++device)
    devices.push_back({{"device", device},
                       {"busy", work[device]},
                       {"idle", subtract(result.span, work[device])},
                       {"peak_activations", result.peakActivations[device]}});
  ordered_json object = {{"schedule", getText(scheduled.kind)}};
  if (!scheduled.deviceOrder.empty())
    object["device_order"] = scheduled.deviceOrder;
  object.update(ordered_json{{"microbatches", scheduled.pipeline.microbatches},
                             {"makespan", result.timeline.makespan},
                             {"span", result.span},
                             {"bubble", result.getBubble(result.span)},
                             {"exposed_communication", getExposedCommunication(scheduled)},
                             {"peak_activations", result.getPeakActivations()},
                             {"devices", devices}});
  return object;
}

ordered_json bppsa::schedule::describeChoices(const std::vector<ScheduledPipeline> &ranking) {
  ordered_json choices = ordered_json::array();
  for (const ScheduledPipeline &scheduled : ranking)
    choices.push_back({{"schedule", getText(scheduled.kind)},
                       {"span", scheduled.result.span},
                       {"bubble", scheduled.result.getBubble(scheduled.result.span)},
                       {"peak_activations", scheduled.result.getPeakActivations()}});
  return choices;
}

ordered_json bppsa::schedule::describe(const LinkResult &result, int32_t ranks, int64_t batch) {
  constexpr double kMicroseconds = 1e6;
  return {{"ranks", ranks},
          {"step", result.step * kMicroseconds},
          {"compute", result.compute * kMicroseconds},
          {"exposed_communication", subtract(result.step, result.compute) * kMicroseconds},
          {"efficiency", result.compute / result.step},
          {"samples_per_second", double(ranks) * batch / result.step}};
}

ordered_json bppsa::schedule::describeLayers(const std::vector<ModelLayer> &layers,
                                             const std::vector<int32_t> &devices) {
  ordered_json list = ordered_json::array();
  for (size_t i = 0; i < layers.size(); ++i) {
    const ModelLayer &layer = layers[i];
    ordered_json entry = {{"layer", layer.name}};
    if (!devices.empty())
      entry["device"] = devices[i];
    entry.update(
        {{"forward", layer.forward},
         {"backward", layer.backward},
         {"weight", layer.weight},
         {"parameters", std::accumulate(layer.tensors.begin(), layer.tensors.end(), int64_t(0))},
         {"activation_bytes", layer.activationBytes},
         {"output_bytes", layer.outputBytes}});
    list.push_back(entry);
  }
  return list;
}

static std::string format(const ordered_json &value) {
  if (value.is_string())
    return value.get<std::string>();
  if (!value.is_number_float())
    return value.dump();
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value.get<double>());
  return text;
}

static std::string formatTable(const ordered_json &rows) {
  std::vector<std::vector<std::string>> lines;
  for (const ordered_json &row : rows) {
    std::vector<std::string> names, values;
    for (const auto &[name, value] : row.items()) {
      names.push_back(name);
      values.push_back(format(value));
    }
    if (lines.empty())
      lines.push_back(names);
    lines.push_back(values);
  }
  std::vector<size_t> widths;
  for (const std::vector<std::string> &line : lines) {
    widths.resize(std::max(widths.size(), line.size()), 0);
    for (size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], line[i].size());
  }
  std::string table;
  for (const std::vector<std::string> &line : lines) {
    for (size_t i = 0; i < line.size(); ++i)
      table += "  " + std::string(widths[i] - line[i].size(), ' ') + line[i];
    table += '\n';
  }
  return table;
}

std::string bppsa::schedule::toText(const ordered_json &object) {
  size_t width = 0;
  for (const auto &[name, value] : object.items())
    width = std::max(width, name.size());
  std::string result;
  for (const auto &[name, value] : object.items())
    result += value.is_array()
                  ? name + '\n' + formatTable(value)
                  : name + std::string(width + 2 - name.size(), ' ') + format(value) + '\n';
  return result;
}
