//===- Contraction.h - sums of products on memory ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_VECTORIZECONTRACTIONS_CONTRACTION_H
#define BPPSA_LIB_CODEGEN_CPU_VECTORIZECONTRACTIONS_CONTRACTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace bppsa {

/// How the loops of `result[...] += lhs[...] * rhs[...]` on memory run.
/// Operands are numbered lhs, rhs, result.
struct Contraction {
  static constexpr unsigned result = 2;

  mlir::linalg::GenericOp generic;
  llvm::SmallVector<mlir::AffineMap, 3> maps;
  /// Loops over entries of the result, outermost first, and loops over the
  /// terms of one entry.
  llvm::SmallVector<unsigned> outer, inner;
  /// The loop whose steps are the lanes of a vector.
  unsigned lanes = 0;
  /// How many elements lie from lane to lane of each operand; 0 for an element that all lanes
  /// share.
  std::array<int64_t, 3> laneStrides = {0, 0, 0};
  /// The loop several of whose steps share the vectors of an operand.
  std::optional<unsigned> rows;
  /// Whether the first outer loop is worth more than one thread.
  bool isParallel = false;

  mlir::linalg::LinalgOp getOp() const { return generic; }

  /// Whether the place in `operand` depends on `loop`.
  bool depends(unsigned operand, unsigned loop) const {
    return maps[operand].isFunctionOfDim(loop);
  }
  /// Whether the lanes of `operand` are neighbours in memory, or one element.
  bool hasWholeVectors(unsigned operand) const { return laneStrides[operand] <= 1; }
  bool isSummedOverLanes() const { return !depends(result, lanes); }
};

/// The plan for `op`, or nothing if it is no sum of products on memory or has no loop whose steps
/// are equally far apart in it.
std::optional<Contraction> planContraction(mlir::linalg::GenericOp op);

/// Replaces the generic by vectors of `numLanes` lanes; `numRows` accumulators
/// live at a time.
void emitContraction(const Contraction &contraction, int64_t numLanes, int64_t numRows,
                     mlir::OpBuilder &builder);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_VECTORIZECONTRACTIONS_CONTRACTION_H
