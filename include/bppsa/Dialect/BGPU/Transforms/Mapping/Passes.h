//===- Passes.h - GPU mapping passes ----------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_TRANSFORMS_MAPPING_PASSES_H
#define BPPSA_DIALECT_BGPU_TRANSFORMS_MAPPING_PASSES_H

#include "bppsa/Support/TensorPrecision.h"
#include "mlir/Pass/Pass.h"

namespace bppsa {

#define GEN_PASS_DECL
#include "bppsa/Dialect/BGPU/Transforms/Mapping/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "bppsa/Dialect/BGPU/Transforms/Mapping/Passes.h.inc"

} // namespace bppsa

#endif // BPPSA_DIALECT_BGPU_TRANSFORMS_MAPPING_PASSES_H
