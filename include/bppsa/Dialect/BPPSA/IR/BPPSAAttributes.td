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

def BPPSA_ScanAlgorithm : I32EnumAttr<"ScanAlgorithm", "association order of a cotangent chain", [
    I32EnumAttrCase<"Linear", 0, "linear">,
    I32EnumAttrCase<"Blelloch", 1, "blelloch">,
    I32EnumAttrCase<"Hybrid", 2, "hybrid">,
    I32EnumAttrCase<"Chunked", 3, "chunked">]> {
  let cppNamespace = "::bppsa";
  let genSpecializedAttr = 0;
}

def BPPSA_PlanAttr : AttrDef<BPPSA_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "Association order of a cotangent chain";
  let description = [{
    * `linear` runs the chain step by step.
    * `blelloch` is the modified Blelloch scan of the BPPSA paper.
    * `hybrid` performs `size` up-sweep levels, a linear scan over the remaining roots, and `size`
      down-sweep levels.
    * `chunked` aggregates chunks of `size` steps, propagates the carry across chunks by
      matrix-vector products, and re-runs each chunk. A `size` of 0 leaves the chunk length to the
      run time.

    Example: `#bppsa.plan<chunked, 32>`
  }];
  let parameters = (ins EnumParameter<BPPSA_ScanAlgorithm>:$algorithm,
                        DefaultValuedParameter<"int64_t", "0">:$size);
  let assemblyFormat = "`<` $algorithm (`,` $size^)? `>`";
  let genVerifyDecl = 1;
  let constBuilderCall = "::bppsa::PlanAttr::get($_builder.getContext(), $0)";
  let extraClassDeclaration = [{
    /// Parses the command-line spelling: `linear`, `blelloch`, `hybrid:L`,
    /// `chunked` or `chunked:C`. Returns null if `text` is none of these.
    static PlanAttr fromString(::mlir::MLIRContext *context, ::llvm::StringRef text);
    /// Returns the command-line spelling of this plan.
    std::string toString() const;
    /// Returns true if the chain runs step by step: `linear`, or `hybrid` without levels.
    bool isSequential() const;
  }];
}

def BPPSA_TermAttr : AttrDef<BPPSA_Dialect, "Term"> {
  let mnemonic = "term";
  let summary = "Scaled matrix in the Jacobian of a link";
  let description = [{
    Represents `diag(left) M diag(right)` in the block of the Jacobian at the states `row` and
    `col`. `left`, `matrix` and `right` are operand indices of `bppsa.factored_transition`, or -1 if
    absent. With `transposed`, M is the transpose of the operand.

    Example: `#bppsa.term<row = 0, col = 1, left = 2, matrix = 0, transposed = true>`
  }];
  let parameters = (ins "int64_t":$row, "int64_t":$col, DefaultValuedParameter<"int64_t", "-1">:$left,
                        DefaultValuedParameter<"int64_t", "-1">:$matrix,
                        DefaultValuedParameter<"int64_t", "-1">:$right,
                        DefaultValuedParameter<"bool", "false">:$transposed);
  let assemblyFormat = "`<` struct(params) `>`";
}

def BPPSA_SymbolsAttr : AttrDef<BPPSA_Dialect, "Symbols"> {
  let mnemonic = "symbols";
  let summary = "Symbolic sizes of a model";
  let description = [{
    Lists one symbol per distinct dynamic dimension of the model's inputs. The names are unique.
    Maps such as `bppsa.shape` are functions of these symbols in this order. `at least n` is the
    smallest size that the model supports, 1 by default.

    Example: `#bppsa.symbols<"batch", "time" at least 3>`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names,
                        ArrayRefParameter<"int64_t">:$minSizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAATTRIBUTES
