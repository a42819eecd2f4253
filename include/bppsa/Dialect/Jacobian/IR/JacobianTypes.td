//===- JacobianTypes.td - jacobian types -------------------*- tablegen -*-===//
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
  let summary = "Transposed Jacobian, shared by all samples or one per sample";
  let description = [{
    Maps a cotangent of `cols` elements to one of `rows` elements. The element type is followed by
    the structure, a `#jacobian.structure`. `batch = 16` (or `?`) states that each sample of a batch
    has its own matrix; without it all samples share one.

    Example: `!jacobian.matrix<20x20xf32, diagonal>`
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
    /// Returns the type of `jacobian.compose %first, %second`, by the product table.
    static MatrixType compose(MatrixType first, MatrixType second);
    /// Returns the tensor type that holds every entry: `[batch x] rows x cols`.
    ::mlir::RankedTensorType getDenseType() const;
    /// Returns the possibly nonzero entries of the matrix.
    ::bppsa::SparsityPattern computePattern() const { return getStructure().computePattern(getRows(), getCols()); }
  }];
}

#endif // BPPSA_DIALECT_JACOBIAN_IR_JACOBIANTYPES
