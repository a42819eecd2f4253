//===- KernelTrait.td - ops that become loop nests ---------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_KERNELTRAIT
#define BPPSA_SUPPORT_KERNELTRAIT

include "mlir/IR/OpBase.td"

/// Marks ops that are lowered to one loop nest after bufferization.
def BPPSA_Kernel : NativeOpTrait<"KernelTrait"> {
  let cppNamespace = "::bppsa";
}

#endif // BPPSA_SUPPORT_KERNELTRAIT
