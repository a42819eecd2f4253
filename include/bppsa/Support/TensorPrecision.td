//===- TensorPrecision.td - precision of tensor cores ------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_TENSORPRECISION
#define BPPSA_SUPPORT_TENSORPRECISION

include "mlir/IR/EnumAttr.td"

def BPPSA_TensorPrecision : I32EnumAttr<"TensorPrecision", "precision of products on tensor cores", [
    I32EnumAttrCase<"FP32", 0, "fp32">,
    I32EnumAttrCase<"TF32", 1, "tf32">,
    I32EnumAttrCase<"BF16", 2, "bf16">]> {
  let cppNamespace = "::bppsa";
}

#endif // BPPSA_SUPPORT_TENSORPRECISION
