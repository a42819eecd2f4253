//===- LayerTimes.h - times of the layers of a model ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TOOLS_BPPSA_SCHEDULE_LAYERTIMES_H
#define BPPSA_TOOLS_BPPSA_SCHEDULE_LAYERTIMES_H

#include "CommandLine.h"
#include "bppsa/Simulator/Model/ModelLayers.h"

namespace bppsa::schedule {

/// Returns the model's work with microseconds instead of FLOPs (docs/Benchmarks/Scaling.md). Throws
/// runtime::Error.
ModelWork getTimedWork(const CommandLine &options);

} // namespace bppsa::schedule

#endif // BPPSA_TOOLS_BPPSA_SCHEDULE_LAYERTIMES_H
