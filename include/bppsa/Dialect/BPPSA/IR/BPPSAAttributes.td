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
    I32EnumAttrCase<"Linear", 0, "linear">,
    I32EnumAttrCase<"Blelloch", 1, "blelloch">,
    I32EnumAttrCase<"Hybrid", 2, "hybrid">,
    I32EnumAttrCase<"Chunked", 3, "chunked">]> {
  let cppNamespace = "::bppsa";
  let genSpecializedAttr = 0;
}

def BPPSA_PlanAttr : AttrDef<BPPSA_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "the association order of a cotangent chain";
  let description = [{
    `linear` runs the chain step by step. `blelloch` is the modified Blelloch
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
  let constBuilderCall = "::bppsa::PlanAttr::get($_builder.getContext(), $0)";
  let extraClassDeclaration = [{
    /// Parses the command-line spelling: `linear`, `blelloch`, `hybrid:L`,
    /// `chunked` or `chunked:C`. Null where `text` is none of these.
    static PlanAttr fromString(::mlir::MLIRContext *context, ::llvm::StringRef text);
    /// The command-line spelling of this plan.
    std::string toString() const;
    /// Whether the chain runs step by step: `linear`, and `hybrid` without levels.
    bool isSequential() const;
  }];
}

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

def BPPSA_TermAttr : AttrDef<BPPSA_Dialect, "Term"> {
  let mnemonic = "term";
  let summary = "a scaled matrix in the Jacobian of a link";
  let description = [{
    `diag(left) M diag(right)` in the block of states `row` and `col`. `left`, `matrix`
    and `right` are numbers of operands of `bppsa.factored_transition`, -1 where there
    is none; `transposed` says that M is the transpose of the operand.

    Example: `#bppsa.term<row = 0, col = 1, left = 2, matrix = 0, transposed = true>`
  }];
  let parameters = (ins "int64_t":$row, "int64_t":$col, DefaultValuedParameter<"int64_t", "-1">:$left,
                        DefaultValuedParameter<"int64_t", "-1">:$matrix,
                        DefaultValuedParameter<"int64_t", "-1">:$right,
                        DefaultValuedParameter<"bool", "false">:$transposed);
  let assemblyFormat = "`<` struct(params) `>`";
}

//===----------------------------------------------------------------------===//
// What functions and graphs are annotated with
//===----------------------------------------------------------------------===//

def BPPSA_SymbolsAttr : AttrDef<BPPSA_Dialect, "Symbols"> {
  let mnemonic = "symbols";
  let summary = "the symbols of the sizes of a model";
  let description = [{
    Maps such as those of `bppsa.shape` are functions of these symbols, in order: one for each
    dynamic dimension of the inputs of a model that differs from the others. Names are different.
    `at least n` says what the model needs; without it a size is at least 1.

    Example: `#bppsa.symbols<"batch", "time" at least 3>`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names,
                        ArrayRefParameter<"int64_t">:$minSizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAATTRIBUTES
