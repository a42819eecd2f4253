//===- Report.h - HTML reports of plan evaluations --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_REPORT_REPORT_H
#define BPPSA_REPORT_REPORT_H

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <utility>
#include <vector>

namespace bppsa {

/// The header of a report.
struct ReportHeader {
  std::string title = "Scan plans";
  /// Names and values of properties of the model, the target, ...
  std::vector<std::pair<std::string, std::string>> facts;
  /// Plans of the compiled program for chains over time and over layers, as text. `auto` is
  /// resolved to the chosen plan. Empty if no program is compiled.
  std::vector<std::string> plansOverTime, plansOfLayers;
};

/// Writes `evaluations`, the JSON from `writeEvaluations`, as one HTML page without external
/// resources. The page contains the JSON and scripts that render it: for every chain its layers or
/// its step, the zero patterns of its links, a table of the plans, and the tree and level costs of
/// each plan. Plans used by the program are marked; the others are collapsed. If a key that the
/// page reads is missing or has an unexpected type, returns an error and writes nothing.
llvm::Error writeReport(llvm::StringRef evaluations, const ReportHeader &header,
                        llvm::raw_ostream &os);

} // namespace bppsa

#endif // BPPSA_REPORT_REPORT_H
