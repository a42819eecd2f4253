//===- Passes.h - passes on time loops and their variants -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_LOOPS_PASSES_H
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_LOOPS_PASSES_H

#include "bppsa/CostModel/Machines/HostCaches.h"
#include "mlir/Pass/Pass.h"

namespace bppsa {

#define GEN_PASS_DECL
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h.inc"

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_LOOPS_PASSES_H
