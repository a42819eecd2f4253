//===- Passes.td - Differentiation passes ------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIFFERENTIATION_PASSES
#define BPPSA_DIFFERENTIATION_PASSES

include "mlir/Pass/PassBase.td"

#endif // BPPSA_DIFFERENTIATION_PASSES
