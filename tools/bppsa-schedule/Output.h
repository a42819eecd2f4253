//===- Output.h - schedules as text and JSON --------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TOOLS_BPPSA_SCHEDULE_OUTPUT_H
#define BPPSA_TOOLS_BPPSA_SCHEDULE_OUTPUT_H

#include "bppsa/Simulator/LinkExchange.h"
#include "bppsa/Simulator/Model/ModelLayers.h"
#include "bppsa/Simulator/PipelineSchedules.h"
#include <nlohmann/json.hpp>

namespace bppsa::schedule {

/// docs/Benchmarks/Scaling.md defines the figures.
nlohmann::ordered_json describe(const ScheduledPipeline &scheduled);

/// Each rank has `batch` samples. Times are in microseconds.
nlohmann::ordered_json describe(const LinkResult &result, int32_t ranks, int64_t batch);

nlohmann::ordered_json describeChoices(const std::vector<ScheduledPipeline> &ranking);

nlohmann::ordered_json describeLayers(const std::vector<ModelLayer> &layers,
                                      const std::vector<int32_t> &devices);

/// Formats a line per figure and a table per list.
std::string toText(const nlohmann::ordered_json &object);

} // namespace bppsa::schedule

#endif // BPPSA_TOOLS_BPPSA_SCHEDULE_OUTPUT_H
