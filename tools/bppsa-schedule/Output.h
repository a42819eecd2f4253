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

/// Returns the figures of a schedule that docs/Benchmarks/Scaling.md defines.
nlohmann::ordered_json describe(const ScheduledPipeline &scheduled);

/// Returns the figures of an exchange between `ranks` with `batch` samples each; times are in
/// microseconds.
nlohmann::ordered_json describe(const LinkResult &result, int32_t ranks, int64_t batch);

/// Returns a summary of each schedule of a ranking.
nlohmann::ordered_json describeChoices(const std::vector<ScheduledPipeline> &ranking);

/// Describes the layers of a model, with the device of each unless `devices` is empty.
nlohmann::ordered_json describeLayers(const std::vector<ModelLayer> &layers,
                                      const std::vector<int32_t> &devices);

/// Formats `object` for people: a line per figure, and a table per list of objects.
std::string toText(const nlohmann::ordered_json &object);

} // namespace bppsa::schedule

#endif // BPPSA_TOOLS_BPPSA_SCHEDULE_OUTPUT_H
