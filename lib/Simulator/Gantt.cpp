//===- Gantt.cpp - Gantt charts of schedules ------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/Gantt.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

using namespace bppsa::schedule;

/// In pixels.
static constexpr double kRowHeight = 22, kBarHeight = 18, kLeft = 110, kTop = 44, kWidth = 1160,
                        kLetterWidth = 6.2, kLegendWidth = 120;

/// Colours are distinguishable with red-green colour blindness, on white and black.
static constexpr const char *kStyle =
    "text{font:11px sans-serif;fill:#222}.title{font-weight:bold}line{stroke:#bbb}"
    ".k0{fill:#7db3e8}.k1{fill:#f2a65a}.k2{fill:#8fcf8f}.k3{fill:#d9a0d9}.k4{fill:#e8d36b}"
    ".k5{fill:#b8b8b8}.bar{fill:#111;text-anchor:middle}.tick{text-anchor:middle}"
    ".row{text-anchor:end}@media(prefers-color-scheme:dark){svg{background:#181818}"
    "text{fill:#ddd}line{stroke:#444}.bar{fill:#111}}";

static std::string format(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", value);
  std::string digits = text;
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits.back() == '.' ? digits.substr(0, digits.size() - 1) : digits;
}

static std::string escape(const std::string &text) {
  std::string escaped;
  for (char c : text)
    escaped += c == '<' ? "&lt;" : c == '&' ? "&amp;" : c == '>' ? "&gt;" : std::string(1, c);
  return escaped;
}

/// Returns the smallest of 1, 2 and 5 times a power of ten for at most ten parts.
static double getTickDistance(double range) {
  double power = std::pow(10.0, std::floor(std::log10(range / 10)));
  for (double step : {power, 2 * power, 5 * power})
    if (range / step <= 10)
      return step;
  return 10 * power;
}

namespace {
class Drawing {
public:
  explicit Drawing(const Gantt &chart) : chart(chart) {
    for (const Gantt::Bar &bar : chart.bars)
      range = std::max(range, bar.end);
    range = range > 0 ? range : 1;
    height = kTop + kRowHeight * chart.rows.size() + 24;
  }

  std::string draw() {
    out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << format(kLeft + kWidth + 20)
        << "\" height=\"" << format(height) << "\"><style>" << kStyle << "</style>\n";
    addText(10, 16, "title", chart.title);
    drawLegend();
    drawAxis();
    for (size_t row = 0; row < chart.rows.size(); ++row)
      addText(kLeft - 8, getY(row) + 13, "row", chart.rows[row]);
    for (const Gantt::Bar &bar : chart.bars)
      drawBar(bar);
    out << "</svg>\n";
    return out.str();
  }

private:
  double getX(double time) const { return kLeft + kWidth * time / range; }
  static double getY(size_t row) { return kTop + kRowHeight * row; }

  void addText(double x, double y, const char *style, const std::string &text) {
    out << "<text class=\"" << style << "\" x=\"" << format(x) << "\" y=\"" << format(y) << "\">"
        << escape(text) << "</text>\n";
  }

  void addBox(double x, double y, double width, int32_t kind, const std::string &title) {
    out << "<rect class=\"k" << kind << "\" x=\"" << format(x) << "\" y=\"" << format(y)
        << "\" width=\"" << format(width) << "\" height=\"" << format(kBarHeight) << "\">";
    if (!title.empty())
      out << "<title>" << escape(title) << "</title>";
    out << "</rect>\n";
  }

  void drawLegend() {
    for (size_t kind = 0; kind < chart.kinds.size(); ++kind) {
      double x = kLeft + kWidth - kLegendWidth * (chart.kinds.size() - kind);
      addBox(x, 4, kBarHeight, static_cast<int32_t>(kind), "");
      addText(x + kBarHeight + 4, 17, "legend", chart.kinds[kind]);
    }
  }

  void drawAxis() {
    double step = getTickDistance(range), bottom = height - 20;
    for (int64_t i = 0; i * step <= range; ++i) {
      double x = getX(i * step);
      out << "<line x1=\"" << format(x) << "\" y1=\"" << format(kTop - 6) << "\" x2=\"" << format(x)
          << "\" y2=\"" << format(bottom) << "\"/>\n";
      addText(x, bottom + 14, "tick", format(i * step) + (i == 0 ? "" : chart.unit));
    }
  }

  void drawBar(const Gantt::Bar &bar) {
    double x = getX(bar.start), width = getX(bar.end) - x, y = getY(bar.row);
    std::string kind = chart.kinds[bar.kind];
    addBox(x, y, std::max(0.0, width - 0.5), bar.kind,
           kind + " " + bar.label + ": " + format(bar.start) + " to " + format(bar.end));
    if (width > kLetterWidth * bar.label.size())
      addText(x + width / 2, y + 13, "bar", bar.label);
  }

  const Gantt &chart;
  double range = 0, height = 0;
  std::ostringstream out;
};
} // namespace

std::string bppsa::schedule::toSVG(const Gantt &chart) { return Drawing(chart).draw(); }

Gantt bppsa::schedule::makeGantt(const Pipeline &pipeline, const PipelineResult &result) {
  Gantt chart;
  chart.kinds = {"forward", "backward", "gradient", "backward + gradient"};
  for (int32_t device = 0; device < pipeline.devices; ++device)
    chart.rows.push_back("device " + std::to_string(device));
  for (TaskId task : result.timeline.order) {
    PipelineOp op = result.graph.ops[task];
    std::string label = std::to_string(op.microbatch);
    if (pipeline.getNumStages() > pipeline.devices)
      label += "." + std::to_string(op.stage);
    chart.bars.push_back({result.graph.graph.getResource(task), static_cast<int32_t>(op.kind),
                          result.timeline.start[task], result.timeline.end[task], label});
  }
  return chart;
}

Gantt bppsa::schedule::makeGantt(const LinkResult &result) {
  Gantt chart;
  chart.kinds = {"forward", "backward", "gradient", "exchange"};
  chart.rows = {"worker", "link"};
  for (const LinkResult::Task &task : result.tasks)
    chart.bars.push_back({task.kind == LinkResult::Task::Kind::Exchange,
                          static_cast<int32_t>(task.kind), task.start, task.end,
                          std::to_string(task.layer)});
  return chart;
}
