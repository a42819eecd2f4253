//===- Placement.h - assignment of layers to devices ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_PLACEMENT_H
#define BPPSA_SIMULATOR_PLACEMENT_H

#include "bppsa/Simulator/Pipeline.h"

namespace bppsa::schedule {

/// Layers in forward order; `activations` may have any unit.
using Layers = std::vector<StageCost>;

/// Partitions `layers` into `numStages` non-empty runs so that the most expensive run is as cheap
/// as possible, and returns the stage of each layer. Requires at least `numStages` layers.
std::vector<int32_t> divideLayers(const Layers &layers, int32_t numStages);

/// Returns the device of each layer if groups of `group` adjacent layers are assigned to devices
/// round-robin.
std::vector<int32_t> placeModulo(int32_t numLayers, int32_t group, int32_t devices);

/// Returns the device of each stage of a V shape: device d of p has the stages d and 2p - 1 - d, so
/// that the first device also runs the last stage.
std::vector<int32_t> placeVShape(int32_t devices);

/// Assignment of stages to devices that all have the same number of stages.
struct PlacementKind {
  /// Adjacent stages; a V shape; groups of stages round-robin.
  enum class Name { Neighbours, V, Modulo };
  Name name = Name::Neighbours;
  /// Adjacent stages that `modulo` places on the same device.
  int32_t group = 1;
};

/// Parses `neighbours`, `v` or `modulo:G`; returns nullopt for other texts.
std::optional<PlacementKind> parsePlacementKind(const std::string &text);

/// Returns the default number of stages per device: one, or two for a V shape, or two groups.
int64_t getDefaultNumStages(PlacementKind kind);
/// Returns whether `chunks` stages per device are possible: any number for neighbours, two for a V
/// shape, whole groups for modulo.
bool isValidNumStages(PlacementKind kind, int64_t chunks);

/// Returns the device of each of the `chunks * devices` stages.
std::vector<int32_t> placeStages(PlacementKind kind, int32_t chunks, int32_t devices);

/// Creates a pipeline with one stage per run of equal numbers in `stages`, or per layer if `stages`
/// is empty. `placement` is the device of each stage.
Pipeline makePipeline(const Layers &layers, const std::vector<int32_t> &stages,
                      std::vector<int32_t> placement, int32_t microbatches);

/// Creates a pipeline of `devices` equal stages, one per device.
Pipeline makePipeline(int32_t devices, int32_t microbatches, StageCost cost);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PLACEMENT_H
