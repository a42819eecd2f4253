//===- Passes.h - cost model passes -----------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_PASSES_H
#define BPPSA_COSTMODEL_PASSES_H

#include "mlir/Pass/Pass.h"
#include <memory>
#include <string>

namespace bppsa {

#define GEN_PASS_DECL
#include "bppsa/CostModel/Passes.h.inc"

/// Creates a `bppsa-evaluate-plan` pass that writes to `text` instead of a file.
std::unique_ptr<mlir::Pass> createEvaluatePlan(EvaluatePlanOptions options, std::string &text);

#define GEN_PASS_REGISTRATION
#include "bppsa/CostModel/Passes.h.inc"

} // namespace bppsa

#endif // BPPSA_COSTMODEL_PASSES_H
