//===- CommandLine.h - the flags of bppsa-schedule --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TOOLS_BPPSA_SCHEDULE_COMMANDLINE_H
#define BPPSA_TOOLS_BPPSA_SCHEDULE_COMMANDLINE_H

#include "bppsa/Schedule/PipelineSchedules.h"
#include <optional>
#include <string>

namespace bppsa::schedule {

/// What the command line asks for.
struct CommandLine {
  int32_t stages = 0, microbatches = 0;
  /// Of one stage and one microbatch.
  StageCost times = {};
  /// Equal layers that the stages have together.
  int32_t layers = 0;
  double deferredMemory = 0.5;
  std::optional<double> memoryLimit;
  bool forwardFirst = false;
  /// Nothing for `auto`.
  std::optional<ScheduleKind> schedule;
  /// Empty for no drawing.
  std::string gantt;
  bool json = false;
};

/// Nothing after --help or --version, which have been printed. Throws runtime::UsageError.
std::optional<CommandLine> parseCommandLine(int argc, char **argv);

} // namespace bppsa::schedule

#endif // BPPSA_TOOLS_BPPSA_SCHEDULE_COMMANDLINE_H
