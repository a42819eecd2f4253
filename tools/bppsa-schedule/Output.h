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

/// The figures of docs/Scaling.md of a schedule.
nlohmann::ordered_json describe(const ScheduledPipeline &scheduled);

/// Those of an exchange between `ranks`, each with `batch` samples; times are microseconds.
nlohmann::ordered_json describe(const LinkResult &result, int32_t ranks, int64_t batch);

/// The short form of a ranking of schedules.
nlohmann::ordered_json describeChoices(const std::vector<ScheduledPipeline> &ranking);

/// The layers of a model, with the device of each where there is one.
nlohmann::ordered_json describeLayers(const std::vector<ModelLayer> &layers,
                                      const std::vector<int32_t> &devices);

/// `object` for people: a line for each figure, and a table for each list of objects.
std::string toText(const nlohmann::ordered_json &object);

} // namespace bppsa::schedule

#endif // BPPSA_TOOLS_BPPSA_SCHEDULE_OUTPUT_H
