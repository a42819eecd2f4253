//===- Passes.h - scan passes -----------------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_SCAN_PASSES_H
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_SCAN_PASSES_H

#include "mlir/Pass/Pass.h"

namespace bppsa {

#define GEN_PASS_DECL
#include "bppsa/Dialect/BPPSA/Transforms/Scan/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "bppsa/Dialect/BPPSA/Transforms/Scan/Passes.h.inc"

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_SCAN_PASSES_H
