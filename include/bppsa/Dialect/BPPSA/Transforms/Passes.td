//===- Passes.td - Dialect/BPPSA/Transforms passes ------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_PASSES
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_PASSES
