//===- BPPSAProductAttributes.td - how products run --------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSAPRODUCTATTRIBUTES
#define BPPSA_DIALECT_BPPSA_IR_BPPSAPRODUCTATTRIBUTES

include "bppsa/Dialect/BPPSA/IR/BPPSADialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def BPPSA_ProductForm : I32EnumAttr<"ProductForm", "how a product on memory runs on a CPU", [
    I32EnumAttrCase<"Direct", 0, "direct">,
    I32EnumAttrCase<"PackedLhs", 1, "packed_lhs">,
    I32EnumAttrCase<"PackedRhs", 2, "packed_rhs">]> {
  let cppNamespace = "::bppsa";
  let genSpecializedAttr = 0;
}

def BPPSA_ProductMappingAttr : AttrDef<BPPSA_Dialect, "ProductMapping"> {
  let mnemonic = "product_mapping";
  let summary = "how a convolution, one of its cotangents or a matrix product runs on a CPU";
  let description = [{
    `direct`: one loop with neighbouring elements is the lanes of vectors, which are read where they
    are (`bppsa-vectorize-contractions`). `packed_lhs` and `packed_rhs`: both factors are copied to
    panels and multiplied as matrices (`bppsa-pack-products`); the loops of the result and of that
    factor are lanes, those of the other one rows.

    Example: `#bppsa.product_mapping<packed_rhs>`
  }];
  let parameters = (ins EnumParameter<BPPSA_ProductForm>:$form);
  let assemblyFormat = "`<` $form `>`";
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAPRODUCTATTRIBUTES
