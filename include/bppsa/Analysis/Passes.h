//===- Passes.h - Analysis passes -------------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_ANALYSIS_PASSES_H
#define BPPSA_ANALYSIS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace bppsa {

#define GEN_PASS_DECL
#include "bppsa/Analysis/Passes.h.inc"

/// Makes the pass `bppsa-evaluate-plan` that writes to `text`, not to the file that the options
/// name.
std::unique_ptr<mlir::Pass> createEvaluatePlan(EvaluatePlanOptions options, std::string &text);

#define GEN_PASS_REGISTRATION
#include "bppsa/Analysis/Passes.h.inc"

} // namespace bppsa

#endif // BPPSA_ANALYSIS_PASSES_H
