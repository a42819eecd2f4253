//===- Passes.h - Differentiation passes ------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIFFERENTIATION_PASSES_H
#define BPPSA_DIFFERENTIATION_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace bppsa {

/// The output and the function attribute that `bppsa-trace-nans` adds.
inline constexpr llvm::StringLiteral kFirstNaNs = "first_nans";
inline constexpr llvm::StringLiteral kTracedNodes = "traced_nodes";

#define GEN_PASS_DECL
#include "bppsa/Differentiation/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "bppsa/Differentiation/Passes.h.inc"

} // namespace bppsa

#endif // BPPSA_DIFFERENTIATION_PASSES_H
