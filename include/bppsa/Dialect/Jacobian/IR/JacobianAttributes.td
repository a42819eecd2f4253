//===- JacobianAttributes.td - jacobian attributes ---------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_IR_JACOBIANATTRIBUTES
#define BPPSA_DIALECT_JACOBIAN_IR_JACOBIANATTRIBUTES

include "bppsa/Dialect/Jacobian/IR/JacobianDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Jacobian_PatternAttr : AttrDef<Jacobian_Dialect, "Pattern"> {
  let mnemonic = "pattern";
  let summary = "where a matrix may be nonzero";
  let description = [{
    The distinct rows, each with its columns in ascending order, and then which
    of them every row of the matrix is. `a to b` stands for all numbers from a to
    b. Rows that no row of the matrix is do not count.

    Example: a 4 x 6 matrix whose rows 0 and 2 have entries in columns 1 to 3,
    whose row 1 has one in column 0 and whose row 3 has none is
    `#jacobian.pattern<4x6, [[1 to 3], [0], []], [0, 1, 0, 2]>`
  }];
  let parameters = (ins AttrParameter<"::bppsa::SparsityPattern", "the pattern",
                                      "const ::bppsa::SparsityPattern &">:$value);
  let hasCustomAssemblyFormat = 1;
}

def Jacobian_StructureKind : I32EnumAttr<"StructureKind", "what is known of a Jacobian", [
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
  let cppNamespace = "::bppsa::jacobian";
  let genSpecializedAttr = 0;
}

def Jacobian_StructureAttr : AttrDef<Jacobian_Dialect, "Structure"> {
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
    | `csr(pattern)` | zero outside a `#jacobian.pattern` |
    | `block_diagonal(n, s)` | one block of structure `s`, `n` times along the diagonal |
    | `blocks([rows], [columns], [s, ...])` | a grid of blocks with these sizes, row by row |
    | `sum(s, ...)` | a sum of matrices |

    Example: `#jacobian.structure<sum(diagonal, row_scaled)>`
  }];
  let parameters = (ins EnumParameter<Jacobian_StructureKind>:$kind, "int64_t":$count,
                        "::bppsa::jacobian::PatternAttr":$pattern,
                        ArrayRefParameter<"int64_t">:$rowSizes,
                        ArrayRefParameter<"int64_t">:$colSizes,
                        ArrayRefParameter<"::bppsa::jacobian::StructureAttr">:$parts);
  let builders = [
    AttrBuilder<(ins "::bppsa::jacobian::StructureKind":$kind), [{
      return $_get($_ctxt, kind, 0, ::bppsa::jacobian::PatternAttr(), ::llvm::ArrayRef<int64_t>(),
                   ::llvm::ArrayRef<int64_t>(), ::llvm::ArrayRef<::bppsa::jacobian::StructureAttr>());
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static StructureAttr getCSR(::bppsa::jacobian::PatternAttr pattern);
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

def Jacobian_OperandJacobiansAttr : AttrDef<Jacobian_Dialect, "OperandJacobians"> {
  let mnemonic = "operands";
  let summary = "the transposed Jacobians of an operation of a graph";
  let description = [{
    One for each operand, then for each tensor that the body of the operation reads; `none` where
    there is no derivative or its structure is not known. Of a time loop there is one, the Jacobian
    of a step over all states.

    Example: `#jacobian.operands<!jacobian.matrix<8x8xf32, diagonal, batch = ?>, none>`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Type">:$types);
  let assemblyFormat = "`<` $types `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// `types` may be null for `none`.
    static OperandJacobiansAttr getOf(::mlir::MLIRContext *context,
                                      ::llvm::ArrayRef<::bppsa::jacobian::MatrixType> types);
    /// The Jacobian of value number `index`; null for `none`.
    ::bppsa::jacobian::MatrixType getJacobian(size_t index);
  }];
}

#endif // BPPSA_DIALECT_JACOBIAN_IR_JACOBIANATTRIBUTES
