//===- PipelineOptions.h - Options for scheduling a pipeline --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_UPDATES_PIPELINEOPTIONS_H
#define BPPSA_RUNTIME_UPDATES_PIPELINEOPTIONS_H

#include <optional>
#include <string>

namespace bppsa::runtime {

/// Results are bit-identical for all settings.
struct PipelineOptions {
  /// A name for schedule::parseScheduleKind(), or `auto`. Empty selects the program's default.
  std::string schedule;
  /// Measure operation times instead of deriving them from operation counts.
  bool areTimesMeasured = true;
  /// Microbatches that a rank may hold, each weighted by the share of its stages that hold it.
  std::optional<double> memoryLimit;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_UPDATES_PIPELINEOPTIONS_H
