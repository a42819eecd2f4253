//===- Passes.h - passes on block-level kernels -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_TRANSFORMS_PASSES_H
#define BPPSA_DIALECT_BGPU_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace bppsa::bgpu {

#define GEN_PASS_DECL
#include "bppsa/Dialect/BGPU/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "bppsa/Dialect/BGPU/Transforms/Passes.h.inc"

} // namespace bppsa::bgpu

#endif // BPPSA_DIALECT_BGPU_TRANSFORMS_PASSES_H
