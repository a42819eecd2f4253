//===- ResidualBlock.h - memory for what a backward part reads --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESIDUALBLOCK_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESIDUALBLOCK_H

#include "ResidualCut.h"
#include "SizeFormulas.h"

namespace bppsa {

/// Writes the bytes of the block of `cut`, an upper bound where sizes depend on numbers. Fails
/// after an error.
mlir::FailureOr<mlir::Value> emitBlockSize(mlir::OpBuilder &builder, mlir::Location loc,
                                           const ResidualCut &cut, SizeFormulas &formulas);

/// Fills `array` with zeros.
void fillWithZeros(mlir::OpBuilder &builder, mlir::Value array);

/// A block of residuals: the numbers of a cut, then its arrays, each at a multiple of
/// kResidualAlignment.
class ResidualBlock {
public:
  /// The block in `bytes`. `builder` stays the caller's to move.
  ResidualBlock(mlir::OpBuilder &builder, mlir::Value bytes, const ResidualCut &cut);

  /// The next array, of the type of `allocation` and of `sizes`.
  mlir::Value takeArray(mlir::memref::AllocOp allocation, mlir::ValueRange sizes);
  /// The place of number `i`, of `type`.
  mlir::Value getNumber(size_t i, mlir::Type type);
  /// Fills with zeros what is between the numbers and arrays, all of which are taken.
  void clearGaps();
  /// Where sizes depend on numbers, tells the run time the bytes of those that are taken.
  void reportSize(mlir::ModuleOp module);

private:
  /// Bytes of the block that nothing is in.
  struct Gap {
    mlir::Value start, end;
  };

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value bytes, offset;
  llvm::SmallVector<Gap> gaps;
  /// Whether arrays may be smaller than the block's size assumes.
  bool isBound;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESIDUALBLOCK_H
