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

/// How microbatches are scheduled over pipeline stages. The results are bit-identical for all
/// settings.
struct PipelineOptions {
  /// A name accepted by schedule::parseScheduleKind(), or `auto`. Empty selects the default of the
  /// program.
  std::string schedule;
  /// Measure operation times during the first updates instead of deriving them from operation
  /// counts.
  bool areTimesMeasured = true;
  /// The maximum number of microbatches that a rank holds at once. Each counts by the share of the
  /// rank's stages that hold it.
  std::optional<double> memoryLimit;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_UPDATES_PIPELINEOPTIONS_H
