//===- Passes.h - CPU kernel passes -----------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_CODEGEN_CPU_KERNELS_PASSES_H
#define BPPSA_CODEGEN_CPU_KERNELS_PASSES_H

#include "bppsa/CostModel/Machines/HostCaches.h"
#include "bppsa/Dialect/BPPSA/Analysis/RunningSums.h"
#include "mlir/Pass/Pass.h"

namespace bppsa {

#define GEN_PASS_DECL
#include "bppsa/Codegen/CPU/Kernels/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "bppsa/Codegen/CPU/Kernels/Passes.h.inc"

} // namespace bppsa

#endif // BPPSA_CODEGEN_CPU_KERNELS_PASSES_H
