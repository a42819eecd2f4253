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

#define GEN_PASS_REGISTRATION
#include "bppsa/Analysis/Passes.h.inc"

} // namespace bppsa

#endif // BPPSA_ANALYSIS_PASSES_H
