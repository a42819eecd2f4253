//===- KernelTrait.td - ops that become loop nests ---------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_KERNELTRAIT
#define BPPSA_SUPPORT_KERNELTRAIT

include "mlir/IR/OpBase.td"

/// Once bufferized, the op is lowered to one loop nest.
def BPPSA_Kernel : NativeOpTrait<"KernelTrait"> {
  let cppNamespace = "::bppsa";
}

#endif // BPPSA_SUPPORT_KERNELTRAIT
