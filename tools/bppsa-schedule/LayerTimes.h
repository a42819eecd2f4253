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

/// Returns the work of the model on the command line, with times in microseconds instead of FLOPs.
/// Times are derived from the speed of the device or read from a file (docs/Benchmarks/Scaling.md).
/// Throws runtime::Error.
ModelWork getTimedWork(const CommandLine &options);

} // namespace bppsa::schedule

#endif // BPPSA_TOOLS_BPPSA_SCHEDULE_LAYERTIMES_H
