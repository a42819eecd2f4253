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

/// Emits the size of the block for `cut` in bytes. This is an upper bound if sizes depend on
/// scalars. Fails with a diagnostic if a size is unbounded.
mlir::FailureOr<mlir::Value> emitBlockSize(mlir::OpBuilder &builder, mlir::Location loc,
                                           const ResidualCut &cut, SizeFormulas &formulas);

void fillWithZeros(mlir::OpBuilder &builder, mlir::Value array);

/// A block of residuals: the scalars of a cut, followed by its arrays, each aligned to
/// kResidualAlignment.
class ResidualBlock {
public:
  /// Uses the memory `bytes` as the block. The caller may move `builder` between calls.
  ResidualBlock(mlir::OpBuilder &builder, mlir::Value bytes, const ResidualCut &cut);

  /// Returns a view of the next array, with the type of `allocation` and the dynamic sizes `sizes`.
  mlir::Value takeArray(mlir::memref::AllocOp allocation, mlir::ValueRange sizes);
  /// Returns a view of scalar `i`, of type `type`.
  mlir::Value getNumber(size_t i, mlir::Type type);
  /// Fills the padding between scalars and arrays with zeros. Call this after taking all arrays.
  void clearGaps();
  /// If sizes depend on scalars, reports the bytes in use to the run time.
  void reportSize(mlir::ModuleOp module);

private:
  struct Gap {
    mlir::Value start, end;
  };

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value bytes, offset;
  llvm::SmallVector<Gap> gaps;
  /// True if arrays may be smaller than assumed for the size of the block.
  bool isBound;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESIDUALBLOCK_H
