//===- Placement.h - which device has which layers --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_PLACEMENT_H
#define BPPSA_SIMULATOR_PLACEMENT_H

#include "bppsa/Simulator/Pipeline.h"

namespace bppsa::schedule {

/// Layers one after the other; `activations` have any unit.
using Layers = std::vector<StageCost>;

/// The stage of each of `layers`: `numStages` runs of neighbours, none empty, of which the
/// costliest costs as little as can be. There are at least as many layers.
std::vector<int32_t> divideLayers(const Layers &layers, int32_t numStages);

/// The devices of neighbours in groups of `group`: one device after the other, over and over.
std::vector<int32_t> placeModulo(int32_t numLayers, int32_t group, int32_t devices);

/// The devices of the stages of a V shape: the device d of p has the stages d and 2p - 1 - d, so
/// that the one that begins also ends.
std::vector<int32_t> placeVShape(int32_t devices);

/// Which device has which stages, where devices have as many of them.
struct PlacementKind {
  /// Stages that follow each other; a V shape; groups of stages in turns.
  enum class Name { Neighbours, V, Modulo };
  Name name = Name::Neighbours;
  /// Neighbours that `modulo` gives to the same device.
  int32_t group = 1;
};

/// `neighbours`, `v` or `modulo:G`; nothing for other texts.
std::optional<PlacementKind> parsePlacementKind(const std::string &text);

/// The stages that a device has where nothing else is said: one, two of a V shape, two groups.
int64_t getUsualChunks(PlacementKind kind);
/// Whether devices can have `chunks` stages each: any number, two, whole groups.
bool takesChunks(PlacementKind kind, int64_t chunks);

/// The devices of `chunks` stages on each of `devices`.
std::vector<int32_t> placeStages(PlacementKind kind, int32_t chunks, int32_t devices);

/// Makes one stage of each run of layers with the same number in `stages`, or of each layer where
/// `stages` is empty; `placement` says on which device.
Pipeline makePipeline(const Layers &layers, const std::vector<int32_t> &stages,
                      std::vector<int32_t> placement, int32_t microbatches);

/// `devices` equal stages, one on each device.
Pipeline makePipeline(int32_t devices, int32_t microbatches, StageCost cost);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PLACEMENT_H
