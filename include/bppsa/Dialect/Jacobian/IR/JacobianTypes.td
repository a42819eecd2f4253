//===- MatrixTypes.td - jacobian types -------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_IR_JACOBIANTYPES
#define BPPSA_DIALECT_JACOBIAN_IR_JACOBIANTYPES

include "bppsa/Dialect/Jacobian/IR/JacobianAttributes.td"
include "mlir/IR/AttrTypeBase.td"

def Jacobian_MatrixType : TypeDef<Jacobian_Dialect, "Matrix"> {
  let mnemonic = "matrix";
  let summary = "a transposed Jacobian of one sample, or one for each sample of a batch";
  let description = [{
    `!jacobian.matrix<20x20xf32, diagonal>` maps a cotangent of 20 columns to one
    of 20 rows, and is the same for every sample. `batch = 16` (or `?`) says
    that every sample of a batch has its own matrix. What follows the element
    type is a `#jacobian.structure`.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$elementType,
                        "::bppsa::jacobian::StructureAttr":$structure,
                        "std::optional<int64_t>":$batch);
  let builders = [
    TypeBuilder<(ins "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$elementType,
                     "::bppsa::jacobian::StructureKind":$kind, "std::optional<int64_t>":$batch), [{
      return $_get($_ctxt, rows, cols, elementType, StructureAttr::get($_ctxt, kind), batch);
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The type of `jacobian.compose %first, %second`, by the product table.
    static MatrixType compose(MatrixType first, MatrixType second);
    /// The tensor type that holds every entry: `[batch x] rows x cols`.
    ::mlir::RankedTensorType getDenseType() const;
    /// Where the matrix may be nonzero.
    ::bppsa::SparsityPattern computePattern() const { return getStructure().computePattern(getRows(), getCols()); }
  }];
}

#endif // BPPSA_DIALECT_JACOBIAN_IR_JACOBIANTYPES
