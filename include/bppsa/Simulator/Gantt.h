//===- Gantt.h - Gantt charts of schedules ----------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_GANTT_H
#define BPPSA_SIMULATOR_GANTT_H

#include "bppsa/Simulator/LinkExchange.h"
#include "bppsa/Simulator/Pipeline.h"

namespace bppsa::schedule {

struct Gantt {
  /// Names of the task types; each of the first six has its own colour.
  std::vector<std::string> kinds;
  std::vector<std::string> rows;
  struct Bar {
    int32_t row, kind;
    double start, end;
    /// Drawn if it fits into the bar.
    std::string label;
  };
  std::vector<Bar> bars;
  std::string title, unit;
};

/// Returns the chart as a self-contained SVG that follows the reader's light or dark setting.
std::string toSVG(const Gantt &chart);

/// Draws a row per device and a bar per operation, labelled with its microbatch.
Gantt makeGantt(const Pipeline &pipeline, const PipelineResult &result);

/// Draws a worker and its link during one step; bars are labelled with their layer.
Gantt makeGantt(const LinkResult &result);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_GANTT_H
