//===- BPPSATypes.td - bppsa types -------------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSATYPES
#define BPPSA_DIALECT_BPPSA_IR_BPPSATYPES

include "bppsa/Dialect/BPPSA/IR/BPPSAAttributes.td"
include "mlir/IR/AttrTypeBase.td"

def BPPSA_JacobianType : TypeDef<BPPSA_Dialect, "Jacobian"> {
  let mnemonic = "jacobian";
  let summary = "a transposed Jacobian of one sample, or one for each sample of a batch";
  let description = [{
    `!bppsa.jacobian<20x20xf32, diagonal>` maps a cotangent of 20 columns to one
    of 20 rows, and is the same for every sample. `batch = 16` (or `?`) says
    that every sample of a batch has its own matrix. What follows the element
    type is a `#bppsa.structure`.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$elementType,
                        "::bppsa::StructureAttr":$structure,
                        "std::optional<int64_t>":$batch);
  let builders = [
    TypeBuilder<(ins "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$elementType,
                     "::bppsa::StructureKind":$kind, "std::optional<int64_t>":$batch), [{
      return $_get($_ctxt, rows, cols, elementType, StructureAttr::get($_ctxt, kind), batch);
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The type of `bppsa.compose %first, %second`, by the product table.
    static JacobianType compose(JacobianType first, JacobianType second);
    /// The tensor type that holds every entry: `[batch x] rows x cols`.
    ::mlir::RankedTensorType getDenseType() const;
    /// Where the matrix may be nonzero.
    ::bppsa::SparsityPattern computePattern() const { return getStructure().computePattern(getRows(), getCols()); }
  }];
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSATYPES
