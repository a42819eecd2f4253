//===- Placement.h - assignment of layers to devices ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_PLACEMENT_H
#define BPPSA_SIMULATOR_PLACEMENT_H

#include "bppsa/Simulator/Pipeline.h"

namespace bppsa::schedule {

/// The layers in forward order; activations may have any unit.
using Layers = std::vector<StageCost>;

/// Partitions layers into non-empty runs, minimizing the most expensive one, and returns the stage
/// of each layer.
std::vector<int32_t> divideLayers(const Layers &layers, int32_t numStages);

/// Assigns groups of `group` adjacent layers to devices round-robin.
std::vector<int32_t> placeModulo(int32_t numLayers, int32_t group, int32_t devices);

/// Device d of p has stages d and 2p - 1 - d, so the first device also runs the last stage.
std::vector<int32_t> placeVShape(int32_t devices);

struct PlacementKind {
  /// Adjacent stages; a V shape; groups of stages round-robin.
  enum class Name { Neighbours, V, Modulo };
  Name name = Name::Neighbours;
  /// Adjacent stages on a device, for `modulo`.
  int32_t group = 1;
};

/// Parses `neighbours`, `v` or `modulo:G`.
std::optional<PlacementKind> parsePlacementKind(const std::string &text);

/// Returns the default number of stages per device: one, two for a V shape, or two groups.
int64_t getDefaultNumStages(PlacementKind kind);
/// Returns true if `chunks` stages per device are possible: any number for neighbours, two for a V
/// shape, whole groups for modulo.
bool isValidNumStages(PlacementKind kind, int64_t chunks);

std::vector<int32_t> placeStages(PlacementKind kind, int32_t chunks, int32_t devices);

/// Creates a stage per run of equal numbers in `stages`, or per layer if it is empty. `placement`
/// is the device of each stage.
Pipeline makePipeline(const Layers &layers, const std::vector<int32_t> &stages,
                      std::vector<int32_t> placement, int32_t microbatches);

Pipeline makePipeline(int32_t devices, int32_t microbatches, StageCost cost);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PLACEMENT_H
