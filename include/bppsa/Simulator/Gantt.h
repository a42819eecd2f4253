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
  /// Task types; the first six have distinct colours.
  std::vector<std::string> kinds;
  std::vector<std::string> rows;
  struct Bar {
    int32_t row, kind;
    double start, end;
    /// Drawn if it fits.
    std::string label;
  };
  std::vector<Bar> bars;
  std::string title, unit;
};

/// Returns a self-contained SVG for light and dark settings.
std::string toSVG(const Gantt &chart);

Gantt makeGantt(const Pipeline &pipeline, const PipelineResult &result);

Gantt makeGantt(const LinkResult &result);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_GANTT_H
