//===- Gantt.h - drawings of schedules --------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_GANTT_H
#define BPPSA_SIMULATOR_GANTT_H

#include "bppsa/Simulator/LinkExchange.h"
#include "bppsa/Simulator/Pipeline.h"

namespace bppsa::schedule {

/// A Gantt chart: bars on rows, over time.
struct Gantt {
  /// What kinds of tasks are called; each has a colour of its own, up to six.
  std::vector<std::string> kinds;
  std::vector<std::string> rows;
  struct Bar {
    int32_t row, kind;
    double start, end;
    /// Drawn where it fits.
    std::string label;
  };
  std::vector<Bar> bars;
  std::string title, unit;
};

/// The chart as SVG, which depends on nothing else. It follows the reader's light or dark setting.
std::string toSVG(const Gantt &chart);

/// A row for each device, a bar for each operation, with its microbatch.
Gantt makeGantt(const Pipeline &pipeline, const PipelineResult &result);

/// A worker and its link in one step; bars have the number of their layer.
Gantt makeGantt(const LinkResult &result);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_GANTT_H
