//===- ReportDrawings.h - pictures of a report ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_REPORT_REPORTDRAWINGS_H
#define BPPSA_LIB_REPORT_REPORTDRAWINGS_H

#include "EvaluationRecords.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace bppsa {

/// `text` for HTML and SVG, inside and outside of attributes.
std::string escapeHTML(llvm::StringRef text);
/// "12.3 M" for 12345678.
std::string formatCount(int64_t number);
/// "8 nonzeros, 50.00 % zero".
std::string formatNonzeros(const MatrixRecord &matrix);
/// The class of the style sheet that colours `structure`.
std::string getStructureClass(llvm::StringRef structure);

/// The anchor of the picture of the links of `chain` that begin with `firstLink`.
std::string getPatternId(int64_t chain, int64_t firstLink);
/// The layers of a chain that has some as boxes joined by arrows in the direction of
/// the forward pass, between the ends at which the chain is cut. Boxes lead to the
/// pictures of their links.
void drawLayers(const ChainRecord &chain, int64_t number, llvm::raw_ostream &os);
/// What the step of a chain over time reads and gives.
void drawStep(const ChainRecord &chain, int64_t number, llvm::raw_ostream &os);

/// What plans of a chain are predicted to take on a GPU, and where one overtakes another.
void drawDevice(const DeviceRecord &device, llvm::raw_ostream &os);

/// Where a matrix may be nonzero, as an inline SVG.
void drawPattern(const MatrixRecord &matrix, llvm::raw_ostream &os);
/// The products of a plan that lists its operations: levels are rows, positions of
/// the scanned array columns. Of a chain with too many links it draws the plan on the first few,
/// and says so.
void drawTree(const PlanRecord &plan, int64_t numLinks, llvm::ArrayRef<MatrixRecord> structures,
              llvm::raw_ostream &os);
/// A bar for each level, in parts for its products.
void drawLevels(const PlanRecord &plan, llvm::raw_ostream &os);

} // namespace bppsa

#endif // BPPSA_LIB_REPORT_REPORTDRAWINGS_H
