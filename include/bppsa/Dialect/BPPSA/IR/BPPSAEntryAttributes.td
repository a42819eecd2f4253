//===- BPPSAEntryAttributes.td - roles of functions --------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSAENTRYATTRIBUTES
#define BPPSA_DIALECT_BPPSA_IR_BPPSAENTRYATTRIBUTES

include "bppsa/Dialect/BPPSA/IR/BPPSADialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def BPPSA_EntryRole : I32EnumAttr<"EntryRole", "what a program calls a function for", [
    I32EnumAttrCase<"Forward", 0, "forward">,
    I32EnumAttrCase<"Loss", 1, "loss">,
    I32EnumAttrCase<"Step", 2, "step">,
    I32EnumAttrCase<"Grad", 3, "grad">,
    I32EnumAttrCase<"Pullback", 4, "pullback">,
    I32EnumAttrCase<"Shard", 5, "shard">,
    I32EnumAttrCase<"LateShard", 6, "late_shard">,
    I32EnumAttrCase<"ScanShard", 7, "scan_shard">,
    I32EnumAttrCase<"ScanLateShard", 8, "scan_late_shard">,
    I32EnumAttrCase<"StepNaNs", 9, "nans_step">,
    I32EnumAttrCase<"GradNaNs", 10, "nans_grad">]> {
  let cppNamespace = "::bppsa";
  let genSpecializedAttr = 0;
}

def BPPSA_EntryAttr : AttrDef<BPPSA_Dialect, "Entry"> {
  let mnemonic = "entry";
  let summary = "the role of a function in a compiled program";
  let description = [{
    The attribute `bppsa.entry` of a function. Passes and the compiler find functions by
    this attribute; symbol names carry no meaning.

    | role | the function computes |
    |---|---|
    | `forward` | the outputs of the model |
    | `loss` | the loss of the model |
    | `step` | the loss and the gradients of trained parameters |
    | `grad` | the loss and the gradients of all parameters and inputs |
    | `pullback` | the outputs and their vector-Jacobian products |
    | `shard`, `late_shard` | a training step of a rank that holds a range of time steps |
    | `scan_shard`, `scan_late_shard` | the same, with a backward scan over the ranks |
    | `nans_step`, `nans_grad` | which operation of `step` or `grad` produces the first NaN |

    `variant` names the backward pass of the function. `stage` is the pipeline stage that a
    part of a training step belongs to, counted from 0. `units` marks the copy for small
    batches, whose vectors hold hidden units in place of samples.

    Example: `#bppsa.entry<role = step, variant = "scan", stage = 2>`
  }];
  let parameters = (ins EnumParameter<BPPSA_EntryRole>:$role,
                        OptionalParameter<"::mlir::StringAttr">:$variant,
                        OptionalParameter<"std::optional<int64_t>">:$stage,
                        DefaultValuedParameter<"bool", "false">:$units);
  let assemblyFormat = "`<` struct(params) `>`";
  let builders = [AttrBuilder<(ins "EntryRole":$role, CArg<"::llvm::StringRef", "{}">:$variant), [{
    auto name = variant.empty() ? ::mlir::StringAttr() : ::mlir::StringAttr::get($_ctxt, variant);
    return $_get($_ctxt, role, name, std::nullopt, false);
  }]>];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns whether the function belongs to the backward pass `variant`.
    bool isOf(::llvm::StringRef variant) const {
      return getVariant() && getVariant().getValue() == variant;
    }
    EntryAttr withRole(EntryRole role) const;
    EntryAttr withVariant(::llvm::StringRef variant) const;
    EntryAttr withStage(int64_t stage) const;
    EntryAttr withUnits() const;

    /// Returns the symbol name that the compiler gives to such a function, such as
    /// `step_scan_stage2`. The name is for readers of IR; nothing parses it.
    std::string getSymbolName() const;
  }];
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAENTRYATTRIBUTES
