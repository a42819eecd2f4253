//===- DeviceDrawing.cpp - what plans take on a GPU, in a report ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ReportDrawings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace bppsa;
using llvm::formatv;
using llvm::raw_ostream;

/// Three digits of a positive number.
static std::string formatDigits(double value) {
  int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return formatv("{0}", llvm::format("%.*f", digits, value)).str();
}

static void writeTimes(const DeviceRecord &device, raw_ostream &os) {
  os << formatv("<p>T = {0}, B = {1}.</p>\n<div class=\"wide\"><table><thead><tr><th></th>",
                device.length, device.batch);
  double best = INFINITY;
  for (const PlanTimeRecord &plan : device.plans) {
    os << "<th>" << escapeHTML(plan.plan) << "</th>";
    best = std::min(best, plan.time);
  }
  os << "</tr></thead><tbody><tr><th>predicted us</th>";
  for (const PlanTimeRecord &plan : device.plans)
    os << formatv("<td{0}>{1}</td>", plan.time == best ? " class=\"best\"" : "",
                  formatDigits(plan.time));
  os << "</tr></tbody></table></div>\n";
}

static void writeCrossovers(const DeviceRecord &device, raw_ostream &os) {
  os << "<div class=\"wide\"><table><thead><tr><th>B</th>";
  for (const CrossoverRecord &crossover : device.crossovers)
    os << formatv("<th>{0}</th>", crossover.batch);
  os << "</tr></thead><tbody><tr><th>chunked is faster from T =</th>";
  for (const CrossoverRecord &crossover : device.crossovers)
    os << formatv("<td>{0}</td>",
                  crossover.length > 0 ? std::to_string(crossover.length) : "nowhere");
  os << "</tr></tbody></table></div>\n";
}

/// A cell for each T and B, as strong as the lead of the plan whose colour it has.
static void drawRatios(const DeviceRecord &device, raw_ostream &os) {
  constexpr int64_t left = 64, top = 24, width = 84, height = 26;
  os << formatv("<div class=\"wide\"><svg class=\"crossover\" width=\"{0}\" height=\"{1}\" "
                "viewBox=\"0 0 {0} {1}\" role=\"img\"><title>the time of sequential divided by "
                "that of chunked</title>",
                left + width * device.lengths.size() + 4, top + height * device.batches.size() + 4);
  for (auto [x, length] : llvm::enumerate(device.lengths))
    os << formatv("<text x=\"{0}\" y=\"16\">T = {1}</text>", left + width * x + 8, length);
  for (auto [y, batch] : llvm::enumerate(device.batches)) {
    os << formatv("<text x=\"4\" y=\"{0}\">B = {1}</text>", top + height * y + 17, batch);
    for (auto [x, ratio] : llvm::enumerate(device.ratios[y])) {
      double lead = std::min(1.0, std::abs(std::log2(ratio)) / 4);
      os << formatv("<rect class=\"{0}\" fill-opacity=\"{1}\" x=\"{2}\" y=\"{3}\" width=\"{4}\" "
                    "height=\"{5}\"/><text x=\"{6}\" y=\"{7}\">{8}</text>",
                    ratio > 1 ? "s-csr" : "s-dense", llvm::format("%.2f", 0.1 + 0.6 * lead),
                    left + width * x, top + height * y, width - 2, height - 2, left + width * x + 8,
                    top + height * y + 17, formatDigits(ratio));
    }
  }
  os << "</svg></div>\n";
}

void bppsa::drawDevice(const DeviceRecord &device, raw_ostream &os) {
  os << "<h3>On a GPU: predicted, not measured</h3>\n<p>Backward passes over this chain by the "
        "constants of "
     << escapeHTML(device.constants) << ".</p>\n";
  writeTimes(device, os);
  os << "<p>The time of sequential divided by that of chunked: where it is above 1, in blue, "
        "chunked is faster.</p>\n";
  drawRatios(device, os);
  writeCrossovers(device, os);
}
