//===- Report.h - evaluations of plans as a page ----------------*- C++ -*-===//
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

/// The top of a report.
struct ReportHeader {
  std::string title = "Scan plans";
  /// Names and values: of the model, the target, ...
  std::vector<std::pair<std::string, std::string>> facts;
  /// The plans that the program computes chains with, in their spelling: over time, and of layers.
  /// `auto` is one that the compiler chose. Empty where no program is made.
  std::vector<std::string> plansOverTime, plansOfLayers;
};

/// Writes `evaluations`, the JSON of `writeEvaluations`, as one HTML page without external
/// resources. The page holds the JSON and draws it with its own scripts: for every chain its layers
/// or its step, the zero patterns of its links, a table of the plans, and for each plan its tree
/// and the costs of its levels. Plans of the program are marked, and the others folded. Fails, with
/// nothing written, if a key that the page reads is missing or has an unexpected type.
llvm::Error writeReport(llvm::StringRef evaluations, const ReportHeader &header,
                        llvm::raw_ostream &os);

} // namespace bppsa

#endif // BPPSA_REPORT_REPORT_H
