//===- BPPSAProductAttributes.td - mapping of products -----*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSAPRODUCTATTRIBUTES
#define BPPSA_DIALECT_BPPSA_IR_BPPSAPRODUCTATTRIBUTES

include "bppsa/Dialect/BPPSA/IR/BPPSADialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def BPPSA_ProductForm : I32EnumAttr<"ProductForm", "implementation of a product on memory on a CPU", [
    I32EnumAttrCase<"Direct", 0, "direct">,
    I32EnumAttrCase<"PackedLhs", 1, "packed_lhs">,
    I32EnumAttrCase<"PackedRhs", 2, "packed_rhs">]> {
  let cppNamespace = "::bppsa";
  let genSpecializedAttr = 0;
}

def BPPSA_ProductMappingAttr : AttrDef<BPPSA_Dialect, "ProductMapping"> {
  let mnemonic = "product_mapping";
  let summary = "CPU implementation of a convolution, its cotangents, or a matrix product";
  let description = [{
    * `direct`: one loop over contiguous elements is vectorized, and the operands are read in place
      (`bppsa-vectorize-contractions`).
    * `packed_lhs`, `packed_rhs`: both factors are copied to panels and multiplied as matrices
      (`bppsa-pack-products`). The loops that the result shares with the named factor become lanes,
      those of the other factor become rows.

    Example: `#bppsa.product_mapping<packed_rhs>`
  }];
  let parameters = (ins EnumParameter<BPPSA_ProductForm>:$form);
  let assemblyFormat = "`<` $form `>`";
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAPRODUCTATTRIBUTES
