//===- TrainingOptions.cpp - options of training functions ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Compiler/Pipelines/TrainingOptions.h"
#include "bppsa/Simulator/Placement.h"

using namespace bppsa;

std::optional<FrozenRow> FrozenRow::parse(const std::string &text) {
  auto [name, number] = llvm::StringRef(text).rsplit(':');
  int64_t row;
  if (name.empty() || number.getAsInteger(10, row) || row < 0)
    return std::nullopt;
  return FrozenRow{name.str(), row};
}

std::vector<LossTerm> TrainingOptions::getLossTerms() const {
  std::vector<LossTerm> terms;
  for (size_t i = 0, e = std::max<size_t>(lossOn.size(), 1); i < e; ++i)
    terms.push_back({losses.size() == 1 ? losses[0] : losses[i], lossOn.empty() ? "" : lossOn[i],
                     lossWeights.empty() ? 1 : lossWeights[i]});
  return terms;
}

std::vector<Variant> TrainingOptions::getVariants() const {
  std::vector<Variant> variants;
  if (backward != BackwardKind::Scan)
    variants.push_back({"sequential", ""});
  // A scan reads all steps at once, so with a memory limit it must be requested explicitly.
  bool isBounded = getLoopLimit() > 0 && mayAutoChooseScans();
  if (backward != BackwardKind::Sequential && !isBounded && !pipelineRanks)
    variants.push_back({"scan", scan});
  return variants;
}

std::vector<int32_t> TrainingOptions::getStagePlacement() const {
  std::optional<schedule::PlacementKind> kind = schedule::parsePlacementKind(pipelinePlacement);
  if (!pipelineRanks || !kind)
    return {};
  int64_t chunks = pipelineChunks.value_or(schedule::getDefaultNumStages(*kind));
  return schedule::placeStages(*kind, static_cast<int32_t>(chunks),
                               static_cast<int32_t>(*pipelineRanks));
}

std::vector<Variant> TrainingOptions::getMappedVariants() const {
  std::vector<Variant> variants;
  for (const Variant &variant : getVariants()) {
    variants.push_back(variant);
    // A GPU has no lanes.
    if (target == TargetKind::CPU)
      variants.push_back({variant.name, variant.plan, /*forSmallBatches=*/true});
  }
  return variants;
}
