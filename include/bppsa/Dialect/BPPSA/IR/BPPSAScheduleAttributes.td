//===- BPPSAScheduleAttributes.td - orders of passes -------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSASCHEDULEATTRIBUTES
#define BPPSA_DIALECT_BPPSA_IR_BPPSASCHEDULEATTRIBUTES

include "bppsa/Dialect/BPPSA/IR/BPPSADialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def BPPSA_BackwardRole : I32EnumAttr<"BackwardRole", "what an operation of a backward pass makes", [
    I32EnumAttrCase<"Cotangent", 0, "cotangent">,
    I32EnumAttrCase<"Parameter", 1, "parameter">,
    I32EnumAttrCase<"Both", 2, "both">]> {
  let cppNamespace = "::bppsa";
  let genSpecializedAttr = 0;
}

def BPPSA_BackwardPartAttr : AttrDef<BPPSA_Dialect, "BackwardPart"> {
  let mnemonic = "backward_part";
  let summary = "the part that an operation has in a backward pass";
  let description = [{
    `cotangent` (T) is an operation on the way of cotangents to earlier layers, `parameter` (W) one
    that only gradients of parameters need, and `both` one that makes such a gradient and that the
    way of cotangents needs, too. A `parameter` may run at any time from the cotangent of its stage on;
    stages count from 1, the one that cotangents reach last.

    Example: `#bppsa.backward_part<parameter, stage = 2>`
  }];
  let parameters = (ins EnumParameter<BPPSA_BackwardRole>:$role,
                        DefaultValuedParameter<"int64_t", "0">:$stage);
  let assemblyFormat = "`<` $role (`,` `stage` `=` $stage^)? `>`";
  let genVerifyDecl = 1;
}

def BPPSA_BackwardOrderAttr : AttrDef<BPPSA_Dialect, "BackwardOrder"> {
  let mnemonic = "backward_order";
  let summary = "the order of a backward pass, and the memory that it takes";
  let description = [{
    The order that `bppsa-schedule-backward` chose, the most bytes of tensors that are alive at a
    time in it, and those of the order `in-order`.

    Example: `#bppsa.backward_order<"reverse-first:3", peak = 4096, in_order = 2048>`
  }];
  let parameters = (ins StringRefParameter<"as on the command line">:$order, "int64_t":$peak,
                        "int64_t":$inOrderPeak);
  let assemblyFormat = "`<` $order `,` `peak` `=` $peak `,` `in_order` `=` $inOrderPeak `>`";
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSASCHEDULEATTRIBUTES
