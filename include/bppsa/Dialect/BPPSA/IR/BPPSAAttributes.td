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
// Jacobian structure
//===----------------------------------------------------------------------===//

def BPPSA_PatternAttr : AttrDef<BPPSA_Dialect, "Pattern"> {
  let mnemonic = "pattern";
  let summary = "where a matrix may be nonzero";
  let description = [{
    The distinct rows, each with its columns in ascending order, and then which
    of them every row of the matrix is. `a to b` stands for all numbers from a to
    b. Rows that no row of the matrix is do not count.

    Example: a 4 x 6 matrix whose rows 0 and 2 have entries in columns 1 to 3,
    whose row 1 has one in column 0 and whose row 3 has none is
    `#bppsa.pattern<4x6, [[1 to 3], [0], []], [0, 1, 0, 2]>`
  }];
  let parameters = (ins AttrParameter<"::bppsa::SparsityPattern", "the pattern",
                                      "const ::bppsa::SparsityPattern &">:$value);
  let hasCustomAssemblyFormat = 1;
}

def BPPSA_StructureKind : I32EnumAttr<"StructureKind", "what is known of a Jacobian", [
    I32EnumAttrCase<"Zero", 0, "zero">,
    I32EnumAttrCase<"Identity", 1, "identity">,
    I32EnumAttrCase<"Diagonal", 2, "diagonal">,
    I32EnumAttrCase<"Dense", 3, "dense">,
    I32EnumAttrCase<"SharedDense", 4, "shared_dense">,
    I32EnumAttrCase<"RowScaled", 5, "row_scaled">,
    I32EnumAttrCase<"ColumnScaled", 6, "column_scaled">,
    I32EnumAttrCase<"CSR", 7, "csr">,
    I32EnumAttrCase<"BlockDiagonal", 8, "block_diagonal">,
    I32EnumAttrCase<"Blocks", 9, "blocks">,
    I32EnumAttrCase<"Sum", 10, "sum">]> {
  let cppNamespace = "::bppsa";
  let genSpecializedAttr = 0;
}

def BPPSA_StructureAttr : AttrDef<BPPSA_Dialect, "Structure"> {
  let mnemonic = "structure";
  let summary = "the structure of a Jacobian";
  let description = [{
    What is known of a matrix at compile time; `W` below is a matrix that is the
    same for every sample and step, and `d` a vector of each.

    | structure | matrix |
    |---|---|
    | `zero`, `identity`, `diagonal` | as the names say |
    | `dense` | any |
    | `shared_dense` | `W` |
    | `row_scaled` | `diag(d) W` |
    | `column_scaled` | `W diag(d)` |
    | `csr(pattern)` | zero outside a `#bppsa.pattern` |
    | `block_diagonal(n, s)` | one block of structure `s`, `n` times along the diagonal |
    | `blocks([rows], [columns], [s, ...])` | a grid of blocks with these sizes, row by row |
    | `sum(s, ...)` | a sum of matrices |

    Example: `#bppsa.structure<sum(diagonal, row_scaled)>`
  }];
  let parameters = (ins EnumParameter<BPPSA_StructureKind>:$kind, "int64_t":$count,
                        "::bppsa::PatternAttr":$pattern,
                        ArrayRefParameter<"int64_t">:$rowSizes,
                        ArrayRefParameter<"int64_t">:$colSizes,
                        ArrayRefParameter<"::bppsa::StructureAttr">:$parts);
  let builders = [
    AttrBuilder<(ins "::bppsa::StructureKind":$kind), [{
      return $_get($_ctxt, kind, 0, ::bppsa::PatternAttr(), ::llvm::ArrayRef<int64_t>(),
                   ::llvm::ArrayRef<int64_t>(), ::llvm::ArrayRef<::bppsa::StructureAttr>());
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static StructureAttr getCSR(::bppsa::PatternAttr pattern);
    static StructureAttr getBlockDiagonal(int64_t count, StructureAttr block);
    /// `parts` holds the blocks row by row.
    static StructureAttr getBlocks(::llvm::ArrayRef<int64_t> rowSizes,
                                   ::llvm::ArrayRef<int64_t> colSizes,
                                   ::llvm::ArrayRef<StructureAttr> parts);
    /// The grid of `parts`, or what is simpler: `parts` is all zero or all dense,
    /// diagonal blocks are on the diagonal of a grid of equal sizes, or there is
    /// one part.
    static StructureAttr getGrid(::llvm::ArrayRef<int64_t> rowSizes,
                                 ::llvm::ArrayRef<int64_t> colSizes,
                                 ::llvm::ArrayRef<StructureAttr> parts);
    /// The simplest structure of matrices with entries in `pattern` alone.
    static StructureAttr fromPattern(::mlir::MLIRContext *context, ::bppsa::SparsityPattern pattern);

    /// The structure of the product of a `rows` x `inner` matrix and an `inner`
    /// x `cols` one: the product table. No structure has more guaranteed zeros
    /// than the product of the patterns of both.
    static StructureAttr product(StructureAttr lhs, StructureAttr rhs, int64_t rows,
                                 int64_t inner, int64_t cols);
    /// The structure of the sum of two `rows` x `cols` matrices.
    static StructureAttr sum(StructureAttr lhs, StructureAttr rhs, int64_t rows, int64_t cols);

    /// This structure of a `rows` x `cols` matrix in the form that products and
    /// sums have: patterns, grids and sums that say no more than something simpler
    /// are that.
    StructureAttr simplify(int64_t rows, int64_t cols) const;

    /// Where a `rows` x `cols` matrix of this structure may be nonzero.
    ::bppsa::SparsityPattern computePattern(int64_t rows, int64_t cols) const;
    /// Checks that a `rows` x `cols` matrix can have this structure.
    ::llvm::LogicalResult
    verifyShape(::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError, int64_t rows,
                int64_t cols) const;
    /// Whether the structure itself makes the matrix the same for every sample.
    bool isShared() const;
    bool is(StructureKind kind) const { return getKind() == kind; }
    /// Whether the structure says that the matrix is a diagonal one.
    bool isDiagonal() const {
      return is(StructureKind::Identity) || is(StructureKind::Diagonal);
    }

    /// The text between `<` and `>`.
    static StructureAttr parseBare(::mlir::AsmParser &parser);
    void printBare(::mlir::AsmPrinter &printer) const;
    std::string toString() const;
  }];
}

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
                        ArrayRefParameter<"int64_t">:$leastSizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def BPPSA_OperandJacobiansAttr : AttrDef<BPPSA_Dialect, "OperandJacobians"> {
  let mnemonic = "jacobians";
  let summary = "the transposed Jacobians of an operation of a graph";
  let description = [{
    One for each operand, then for each tensor that the body of the operation reads; `none` where
    there is no derivative or its structure is not known. Of a time loop there is one, the Jacobian
    of a step over all states.

    Example: `#bppsa.jacobians<!bppsa.jacobian<8x8xf32, diagonal, batch = ?>, none>`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Type">:$types);
  let assemblyFormat = "`<` $types `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// `types` may be null for `none`.
    static OperandJacobiansAttr getOf(::mlir::MLIRContext *context,
                                      ::llvm::ArrayRef<::bppsa::JacobianType> types);
    /// The Jacobian of value number `index`; null for `none`.
    ::bppsa::JacobianType getJacobian(size_t index);
  }];
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAATTRIBUTES
