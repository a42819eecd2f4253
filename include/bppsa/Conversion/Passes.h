//===- Passes.h - conversion passes -----------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_CONVERSION_PASSES_H
#define BPPSA_CONVERSION_PASSES_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Pass/Pass.h"

namespace bppsa {

#define GEN_PASS_DECL
#include "bppsa/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "bppsa/Conversion/Passes.h.inc"

} // namespace bppsa

#endif // BPPSA_CONVERSION_PASSES_H
