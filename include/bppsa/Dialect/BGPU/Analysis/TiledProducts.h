//===- TiledProducts.h - tiled products of all time steps -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Finds the bufferized loops and outer sums that a GPU computes as tiled matrix products.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_ANALYSIS_TILEDPRODUCTS_H
#define BPPSA_DIALECT_BGPU_ANALYSIS_TILEDPRODUCTS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// `array` is `[row, column]` or `[step, sample, column]`, with row index step * samples + sample.
bool isTiledFactor(mlir::Value array);

/// Recurrence results that are sums of products of the same sequences with matrices.
struct SequenceProduct {
  llvm::SmallVector<mlir::Value> sequences;
  /// Indexed by sequence, then by result.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> matrices;
  /// Has one vector per result, or none.
  llvm::SmallVector<mlir::Value> biases;
  /// True if the rows of the matrices are the contracted dimension.
  bool isTransposed = false;
  llvm::SmallVector<mlir::Value> destinations;

  int64_t getNumColumns() const;
  bool isLarge() const;
  /// Merges a product of the same sequences. Returns false if impossible.
  bool absorb(const SequenceProduct &other);
};

/// Fails without a diagnostic if the recurrence has states or other results than such products.
llvm::FailureOr<llvm::SmallVector<SequenceProduct, 0>> getSequenceProducts(RecurrenceOp op);
/// True if `op` consists only of products large enough for tiles.
bool areLargeProducts(RecurrenceOp op);

/// Returns how many of the first operations in `ops` one kernel may compute: consecutive outer sums
/// with the same right factor and the same mapping.
size_t countFusable(llvm::ArrayRef<mlir::Operation *> ops);
/// `areLargeSums` returns true if the outer products, stacked along rows, are large enough for
/// tiles. `canStack` returns true if their left factors can be stacked.
bool areLargeSums(llvm::ArrayRef<OuterSumOp> ops);
bool canStack(llvm::ArrayRef<OuterSumOp> ops);

} // namespace bppsa

#endif // BPPSA_DIALECT_BGPU_ANALYSIS_TILEDPRODUCTS_H
