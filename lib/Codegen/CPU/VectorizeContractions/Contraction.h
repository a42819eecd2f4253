//===- Contraction.h - contractions on memory -------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_VECTORIZECONTRACTIONS_CONTRACTION_H
#define BPPSA_LIB_CODEGEN_CPU_VECTORIZECONTRACTIONS_CONTRACTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace bppsa {

/// `result[...] += lhs[...] * rhs[...]` on memory. Operands are numbered lhs, rhs, result.
struct Contraction {
  static constexpr unsigned result = 2;

  mlir::linalg::GenericOp generic;
  llvm::SmallVector<mlir::AffineMap, 3> maps;
  llvm::SmallVector<unsigned> outer, inner;
  unsigned lanes = 0;
  /// Strides in elements; 0 if all lanes share an element.
  std::array<int64_t, 3> laneStrides = {0, 0, 0};
  /// A loop whose iterations share vectors of an operand.
  std::optional<unsigned> rows;
  /// True if the first outer loop has enough work for several threads.
  bool isParallel = false;

  mlir::linalg::LinalgOp getOp() const { return generic; }

  bool depends(unsigned operand, unsigned loop) const {
    return maps[operand].isFunctionOfDim(loop);
  }
  bool hasWholeVectors(unsigned operand) const { return laneStrides[operand] <= 1; }
  bool isSummedOverLanes() const { return !depends(result, lanes); }
};

/// Chooses the loop structure of `op`.
std::optional<Contraction> planContraction(mlir::linalg::GenericOp op);

/// Replaces the generic with loops over vectors of `numLanes` lanes, with `numRows` accumulators.
void emitContraction(const Contraction &contraction, int64_t numLanes, int64_t numRows,
                     mlir::OpBuilder &builder);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_VECTORIZECONTRACTIONS_CONTRACTION_H
