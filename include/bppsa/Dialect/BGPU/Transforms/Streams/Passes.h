//===- Passes.h - GPU stream passes -----------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_TRANSFORMS_STREAMS_PASSES_H
#define BPPSA_DIALECT_BGPU_TRANSFORMS_STREAMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace bppsa {

#define GEN_PASS_DECL
#include "bppsa/Dialect/BGPU/Transforms/Streams/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "bppsa/Dialect/BGPU/Transforms/Streams/Passes.h.inc"

} // namespace bppsa

#endif // BPPSA_DIALECT_BGPU_TRANSFORMS_STREAMS_PASSES_H
