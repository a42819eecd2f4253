//===- Placement.cpp - assignment of layers to devices --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/Placement.h"
#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>

using namespace bppsa::schedule;

static double getTime(const StageCost &layer) {
  return layer.forward + layer.backward + layer.weight;
}

std::vector<int32_t> bppsa::schedule::divideLayers(const Layers &layers, int32_t numStages) {
  size_t numLayers = layers.size();
  std::vector<double> before(numLayers + 1, 0);
  for (size_t i = 0; i < numLayers; ++i)
    before[i + 1] = before[i] + getTime(layers[i]);
  // `most[n]` is the cost of the most expensive stage if k stages hold the first n layers.
  // `cuts[k][n]` counts the layers before the last of k + 1 stages.
  std::vector<double> most(before);
  most[0] = std::numeric_limits<double>::infinity();
  std::vector<std::vector<size_t>> cuts(numStages, std::vector<size_t>(numLayers + 1, 0));
  for (int32_t k = 1; k < numStages; ++k)
    for (size_t n = numLayers; n > 0; --n) {
      most[n] = std::numeric_limits<double>::infinity();
      for (size_t cut = n; cut-- > 0;) {
        double costliest = std::max(most[cut], before[n] - before[cut]);
        if (costliest < most[n]) {
          most[n] = costliest;
          cuts[k][n] = cut;
        }
      }
    }
  std::vector<int32_t> stages(numLayers);
  size_t end = numLayers;
  for (int32_t k = numStages; k-- > 0;) {
    size_t begin = k == 0 ? 0 : cuts[k][end];
    std::fill(stages.begin() + begin, stages.begin() + end, k);
    end = begin;
  }
  return stages;
}

std::vector<int32_t> bppsa::schedule::placeModulo(int32_t numLayers, int32_t group,
                                                  int32_t devices) {
  std::vector<int32_t> placement;
  for (int32_t layer = 0; layer < numLayers; ++layer)
    placement.push_back(layer / group % devices);
  return placement;
}

std::vector<int32_t> bppsa::schedule::placeVShape(int32_t devices) {
  std::vector<int32_t> placement;
  for (int32_t stage = 0; stage < 2 * devices; ++stage)
    placement.push_back(std::min(stage, 2 * devices - 1 - stage));
  return placement;
}

std::optional<PlacementKind> bppsa::schedule::parsePlacementKind(const std::string &text) {
  using Name = PlacementKind::Name;
  if (text == "neighbours")
    return PlacementKind{Name::Neighbours};
  if (text == "v")
    return PlacementKind{Name::V};
  const std::string prefix = "modulo:";
  PlacementKind kind = {Name::Modulo};
  if (text.compare(0, prefix.size(), prefix) != 0)
    return std::nullopt;
  const char *begin = text.data() + prefix.size(), *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(begin, end, kind.group);
  if (rest != end || error != std::errc() || kind.group < 1)
    return std::nullopt;
  return kind;
}

int64_t bppsa::schedule::getDefaultNumStages(PlacementKind kind) {
  if (kind.name == PlacementKind::Name::Modulo)
    return 2 * int64_t(kind.group);
  return kind.name == PlacementKind::Name::V ? 2 : 1;
}

bool bppsa::schedule::isValidNumStages(PlacementKind kind, int64_t chunks) {
  if (kind.name == PlacementKind::Name::V)
    return chunks == 2;
  return chunks >= 1 && chunks % kind.group == 0;
}

std::vector<int32_t> bppsa::schedule::placeStages(PlacementKind kind, int32_t chunks,
                                                  int32_t devices) {
  switch (kind.name) {
  case PlacementKind::Name::Neighbours:
    return placeModulo(chunks * devices, chunks, devices);
  case PlacementKind::Name::V:
    return placeVShape(devices);
  case PlacementKind::Name::Modulo:
    return placeModulo(chunks * devices, kind.group, devices);
  }
  return {};
}

/// The result has the hop after the second stage.
static StageCost merge(const StageCost &stage, const StageCost &next) {
  return {stage.forward + next.forward, stage.backward + next.backward, stage.weight + next.weight,
          next.hop, stage.activations + next.activations};
}

Pipeline bppsa::schedule::makePipeline(const Layers &layers, const std::vector<int32_t> &stages,
                                       std::vector<int32_t> placement, int32_t microbatches) {
  Pipeline pipeline;
  pipeline.devices = 1 + *std::max_element(placement.begin(), placement.end());
  pipeline.microbatches = microbatches;
  for (size_t i = 0; i < layers.size(); ++i)
    if (i > 0 && !stages.empty() && stages[i] == stages[i - 1])
      pipeline.stages.back() = merge(pipeline.stages.back(), layers[i]);
    else
      pipeline.stages.push_back(layers[i]);
  pipeline.placement = std::move(placement);
  for (size_t i = 0; i < layers.size(); ++i)
    pipeline.layerDevices.push_back(pipeline.placement[stages.empty() ? i : stages[i]]);
  std::vector<double> &all = pipeline.deviceActivations;
  all.assign(pipeline.devices, 0);
  for (int32_t stage = 0; stage < pipeline.getNumStages(); ++stage)
    all[pipeline.placement[stage]] += pipeline.stages[stage].activations;
  for (int32_t stage = 0; stage < pipeline.getNumStages(); ++stage)
    if (double ofDevice = all[pipeline.placement[stage]]; ofDevice > 0)
      pipeline.stages[stage].activations /= ofDevice;
  return pipeline;
}

Pipeline bppsa::schedule::makePipeline(int32_t devices, int32_t microbatches, StageCost cost) {
  std::vector<int32_t> placement(devices);
  std::iota(placement.begin(), placement.end(), 0);
  return makePipeline(Layers(devices, cost), {}, std::move(placement), microbatches);
}
