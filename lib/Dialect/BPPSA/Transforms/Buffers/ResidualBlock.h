//===- ResidualBlock.h - memory block of residuals --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESIDUALBLOCK_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESIDUALBLOCK_H

#include "ResidualCut.h"
#include "SizeFormulas.h"

namespace bppsa {

/// Emits the bytes of the block for `cut`, an upper bound if sizes depend on scalars. Fails with a
/// diagnostic if unbounded.
mlir::FailureOr<mlir::Value> emitBlockSize(mlir::OpBuilder &builder, mlir::Location loc,
                                           const ResidualCut &cut, SizeFormulas &formulas);

void fillWithZeros(mlir::OpBuilder &builder, mlir::Value array);

/// Scalars of a cut, then its arrays, each aligned to kResidualAlignment.
class ResidualBlock {
public:
  ResidualBlock(mlir::OpBuilder &builder, mlir::Value bytes, const ResidualCut &cut);

  /// Returns a view of the next array, like `allocation` with sizes `sizes`.
  mlir::Value takeArray(mlir::memref::AllocOp allocation, mlir::ValueRange sizes);
  mlir::Value getNumber(size_t i, mlir::Type type);
  /// Fills the padding with zeros; call this after taking all arrays.
  void clearGaps();
  /// Reports the bytes in use to the run time if sizes depend on scalars.
  void reportSize(mlir::ModuleOp module);

private:
  struct Gap {
    mlir::Value start, end;
  };

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value bytes, offset;
  llvm::SmallVector<Gap> gaps;
  /// True if arrays may be smaller than assumed for the block.
  bool isBound;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESIDUALBLOCK_H
