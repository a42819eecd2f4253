//===- BPPSAScheduleAttributes.td - backward order ---------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSASCHEDULEATTRIBUTES
#define BPPSA_DIALECT_BPPSA_IR_BPPSASCHEDULEATTRIBUTES

include "bppsa/Dialect/BPPSA/IR/BPPSADialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def BPPSA_BackwardRole : I32EnumAttr<"BackwardRole", "role of an operation in a backward pass", [
    I32EnumAttrCase<"Cotangent", 0, "cotangent">,
    I32EnumAttrCase<"Parameter", 1, "parameter">,
    I32EnumAttrCase<"Both", 2, "both">]> {
  let cppNamespace = "::bppsa";
  let genSpecializedAttr = 0;
}

def BPPSA_BackwardPartAttr : AttrDef<BPPSA_Dialect, "BackwardPart"> {
  let mnemonic = "backward_part";
  let summary = "Role and stage of an operation in a backward pass";
  let description = [{
    * `cotangent` (T): propagates cotangents to earlier layers.
    * `parameter` (W): needed only for parameter gradients. It may run at any time after the
      cotangent of its stage is known.
    * `both`: computes a parameter gradient that the cotangent path also needs.

    Stages count from 1, the stage that cotangents reach last.

    Example: `#bppsa.backward_part<parameter, stage = 2>`
  }];
  let parameters = (ins EnumParameter<BPPSA_BackwardRole>:$role,
                        DefaultValuedParameter<"int64_t", "0">:$stage);
  let assemblyFormat = "`<` $role (`,` `stage` `=` $stage^)? `>`";
  let genVerifyDecl = 1;
}

def BPPSA_BackwardOrderAttr : AttrDef<BPPSA_Dialect, "BackwardOrder"> {
  let mnemonic = "backward_order";
  let summary = "Order of a backward pass and its peak memory";
  let description = [{
    Records the order that `bppsa-schedule-backward` chose, its peak of live tensor bytes (`peak`),
    and the peak of the order `in-order` (`in_order`).

    Example: `#bppsa.backward_order<"reverse-first:3", peak = 4096, in_order = 2048>`
  }];
  let parameters = (ins StringRefParameter<"as on the command line">:$order, "int64_t":$peak,
                        "int64_t":$inOrderPeak);
  let assemblyFormat = "`<` $order `,` `peak` `=` $peak `,` `in_order` `=` $inOrderPeak `>`";
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSASCHEDULEATTRIBUTES
