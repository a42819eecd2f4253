//===- Passes.h - GPU code generation passes --------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_CODEGEN_GPU_PASSES_H
#define BPPSA_CODEGEN_GPU_PASSES_H

#include "mlir/Pass/Pass.h"

namespace bppsa {

#define GEN_PASS_DECL
#include "bppsa/Codegen/GPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "bppsa/Codegen/GPU/Passes.h.inc"

} // namespace bppsa

#endif // BPPSA_CODEGEN_GPU_PASSES_H
