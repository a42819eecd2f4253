//===- CompileOptions.cpp - what a user asks the compiler for -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Compiler/Pipelines/CompileOptions.h"

using namespace bppsa;

llvm::SmallVector<Variant> TrainingOptions::getVariants() const {
  llvm::SmallVector<Variant> variants;
  if (backward != BackwardKind::Scan)
    variants.push_back({"sequential", ""});
  if (backward != BackwardKind::Sequential)
    variants.push_back({"scan", scan});
  return variants;
}

llvm::SmallVector<Variant> TrainingOptions::getMappedVariants() const {
  llvm::SmallVector<Variant> variants;
  for (const Variant &variant : getVariants()) {
    variants.push_back(variant);
    // A scan needs samples in its lanes, and a GPU has no lanes.
    if (variant.plan.empty() && target == TargetKind::CPU)
      variants.push_back({variant.name, variant.plan, /*overUnits=*/true});
  }
  return variants;
}
