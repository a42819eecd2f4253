//===- Passes.td - Conversion passes ------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_CONVERSION_PASSES
#define BPPSA_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

#endif // BPPSA_CONVERSION_PASSES
