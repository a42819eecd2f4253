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
  let summary = "Sparsity pattern of a matrix";
  let description = [{
    Lists the distinct rows, each as its possibly nonzero columns in ascending order, and then the
    distinct row that each row of the matrix equals. `a to b` abbreviates the integers from a to b.
    Unused distinct rows are ignored.

    Example: a 4 x 6 matrix with entries in columns 1 to 3 of rows 0 and 2, in column 0 of row 1,
    and an empty row 3 has the pattern `#jacobian.pattern<4x6, [[1 to 3], [0], []], [0, 1, 0, 2]>`.
  }];
  let parameters = (ins AttrParameter<"::bppsa::SparsityPattern", "sparsity pattern",
                                      "const ::bppsa::SparsityPattern &">:$value);
  let hasCustomAssemblyFormat = 1;
}

def Jacobian_StructureKind : I32EnumAttr<"StructureKind", "structure of a Jacobian", [
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
  let summary = "Structure of a Jacobian";
  let description = [{
    Describes a matrix as far as it is known at compile time. In the table, `W` is a matrix that all
    samples and steps share, and `d` is a vector specific to each sample and step.

    | structure | matrix |
    |---|---|
    | `zero`, `identity`, `diagonal` | the zero, identity or a diagonal matrix |
    | `dense` | any matrix |
    | `shared_dense` | `W` |
    | `row_scaled` | `diag(d) W` |
    | `column_scaled` | `W diag(d)` |
    | `csr(pattern)` | zero outside a `#jacobian.pattern` |
    | `block_diagonal(n, s)` | `n` blocks of structure `s` on the diagonal |
    | `blocks([rows], [columns], [s, ...])` | a grid of blocks with these row and column sizes, in row-major order |
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
    /// `parts` holds the blocks in row-major order.
    static StructureAttr getBlocks(::llvm::ArrayRef<int64_t> rowSizes,
                                   ::llvm::ArrayRef<int64_t> colSizes,
                                   ::llvm::ArrayRef<StructureAttr> parts);
    /// Returns the grid of `parts`, or a simpler equivalent structure: if all parts are zero or
    /// all are dense, if the grid is block diagonal with equal sizes, or if it has one part.
    static StructureAttr getGrid(::llvm::ArrayRef<int64_t> rowSizes,
                                 ::llvm::ArrayRef<int64_t> colSizes,
                                 ::llvm::ArrayRef<StructureAttr> parts);
    /// Returns the simplest structure of matrices that are zero outside `pattern`.
    static StructureAttr fromPattern(::mlir::MLIRContext *context, ::bppsa::SparsityPattern pattern);

    /// Returns the structure of the product of a `rows` x `inner` matrix and an `inner` x `cols`
    /// matrix, by the product table. It never claims more guaranteed zeros than the product of the
    /// two patterns.
    static StructureAttr product(StructureAttr lhs, StructureAttr rhs, int64_t rows,
                                 int64_t inner, int64_t cols);
    /// Returns the structure of the sum of two `rows` x `cols` matrices.
    static StructureAttr sum(StructureAttr lhs, StructureAttr rhs, int64_t rows, int64_t cols);

    /// Returns this structure of a `rows` x `cols` matrix in the canonical form of products and
    /// sums: patterns, grids and sums become a simpler structure if it is equivalent.
    StructureAttr simplify(int64_t rows, int64_t cols) const;

    /// Returns the possibly nonzero entries of a `rows` x `cols` matrix of this structure.
    ::bppsa::SparsityPattern computePattern(int64_t rows, int64_t cols) const;
    /// Checks that a `rows` x `cols` matrix can have this structure.
    ::llvm::LogicalResult
    verifyShape(::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError, int64_t rows,
                int64_t cols) const;
    /// Returns true if the structure implies that all samples share the matrix.
    bool isShared() const;
    bool is(StructureKind kind) const { return getKind() == kind; }
    /// Returns true if the structure is the identity or diagonal.
    bool isDiagonal() const {
      return is(StructureKind::Identity) || is(StructureKind::Diagonal);
    }

    /// Parses and prints the text between `<` and `>`.
    static StructureAttr parseBare(::mlir::AsmParser &parser);
    void printBare(::mlir::AsmPrinter &printer) const;
    std::string toString() const;
  }];
}

def Jacobian_OperandJacobiansAttr : AttrDef<Jacobian_Dialect, "OperandJacobians"> {
  let mnemonic = "operands";
  let summary = "Transposed Jacobians of a graph operation";
  let description = [{
    Holds one type for each operand, followed by one for each tensor that the body of the operation
    captures. An entry is `none` if the operand has no derivative or the structure is unknown. A
    time loop has a single entry: the Jacobian of one step over all states.

    Example: `#jacobian.operands<!jacobian.matrix<8x8xf32, diagonal, batch = ?>, none>`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Type">:$types);
  let assemblyFormat = "`<` $types `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Entries of `types` may be null for `none`.
    static OperandJacobiansAttr getOf(::mlir::MLIRContext *context,
                                      ::llvm::ArrayRef<::bppsa::jacobian::MatrixType> types);
    /// Returns the Jacobian of value number `index`, or null for `none`.
    ::bppsa::jacobian::MatrixType getJacobian(size_t index);
  }];
}

#endif // BPPSA_DIALECT_JACOBIAN_IR_JACOBIANATTRIBUTES
