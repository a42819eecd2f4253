//===- BPPSAAttributes.td - bppsa attributes ---------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSAATTRIBUTES
#define BPPSA_DIALECT_BPPSA_IR_BPPSAATTRIBUTES

include "bppsa/Dialect/BPPSA/IR/BPPSADialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

//===----------------------------------------------------------------------===//
// Scan plans
//===----------------------------------------------------------------------===//

def BPPSA_ScanAlgorithm : I32EnumAttr<"ScanAlgorithm", "how a cotangent chain is associated", [
    I32EnumAttrCase<"Auto", 0, "auto">,
    I32EnumAttrCase<"Linear", 1, "linear">,
    I32EnumAttrCase<"Blelloch", 2, "blelloch">,
    I32EnumAttrCase<"Hybrid", 3, "hybrid">,
    I32EnumAttrCase<"Chunked", 4, "chunked">]> {
  let cppNamespace = "::bppsa";
  let genSpecializedAttr = 0;
}

def BPPSA_PlanAttr : AttrDef<BPPSA_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "the association order of a cotangent chain";
  let description = [{
    `linear` walks the chain step by step. `blelloch` is the modified Blelloch
    scan of the BPPSA paper. `hybrid` does `size` up-sweep levels, a linear scan
    over the surviving roots, and `size` down-sweep levels. `chunked`
    aggregates chunks of `size` steps, carries across chunks by mat-vecs and
    re-runs each chunk; a `size` of 0 leaves the length to the run time.

    Example: `#bppsa.plan<chunked, 32>`
  }];
  let parameters = (ins EnumParameter<BPPSA_ScanAlgorithm>:$algorithm,
                        DefaultValuedParameter<"int64_t", "0">:$size);
  let assemblyFormat = "`<` $algorithm (`,` $size^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Parses the command-line spelling: `auto`, `linear`, `blelloch`,
    /// `hybrid:L` or `chunked:C`. Null where `text` is none of these.
    static PlanAttr fromString(::mlir::MLIRContext *context, ::llvm::StringRef text);
    /// The command-line spelling of this plan.
    std::string toString() const;
  }];
}

//===----------------------------------------------------------------------===//
// Jacobian structure
//===----------------------------------------------------------------------===//

def BPPSA_StructureKind : I32EnumAttr<"StructureKind", "where a Jacobian is known to be zero", [
    I32EnumAttrCase<"Zero", 0, "zero">,
    I32EnumAttrCase<"Identity", 1, "identity">,
    I32EnumAttrCase<"Diagonal", 2, "diagonal">,
    I32EnumAttrCase<"Dense", 3, "dense">]> {
  let cppNamespace = "::bppsa";
  let genSpecializedAttr = 0;
}

def BPPSA_StructureAttr : AttrDef<BPPSA_Dialect, "Structure"> {
  let mnemonic = "structure";
  let summary = "the structure of a Jacobian";
  let description = [{
    Example: `#bppsa.structure<diagonal>`
  }];
  let parameters = (ins EnumParameter<BPPSA_StructureKind>:$kind);
  let assemblyFormat = "`<` $kind `>`";
  let extraClassDeclaration = [{
    /// The structure of the product of two Jacobians: the product table.
    static StructureAttr product(StructureAttr lhs, StructureAttr rhs);
  }];
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAATTRIBUTES
