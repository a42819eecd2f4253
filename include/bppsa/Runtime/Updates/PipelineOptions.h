//===- PipelineOptions.h - How microbatches go through a pipeline ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_UPDATES_PIPELINEOPTIONS_H
#define BPPSA_RUNTIME_UPDATES_PIPELINEOPTIONS_H

#include <optional>
#include <string>

namespace bppsa::runtime {

/// How microbatches go through the stages of a pipeline. The results are the same, bit by bit.
struct PipelineOptions {
  /// A word of schedule::parseScheduleKind(), or `auto`; empty for what goes with the program.
  std::string schedule;
  /// Whether times of operations are measured in the first updates, or follow from their counts.
  bool areTimesMeasured = true;
  /// The most microbatches that a rank holds at a time, where each counts by the share of the
  /// rank's stages that hold it.
  std::optional<double> memoryLimit;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_UPDATES_PIPELINEOPTIONS_H
