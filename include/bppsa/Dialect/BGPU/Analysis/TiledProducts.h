//===- TiledProducts.h - tiled products of all time steps -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Finds the loops and outer sums that a GPU computes as tiled matrix products (`tiled_product`),
// and those that can share a kernel. Operations must be bufferized.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_ANALYSIS_TILEDPRODUCTS_H
#define BPPSA_DIALECT_BGPU_ANALYSIS_TILEDPRODUCTS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Returns true if the rows of `array` can be copied. `array` is `[row, column]` or a sequence
/// `[step, sample, column]` with row index step * samples + sample.
bool isTiledFactor(mlir::Value array);

/// Results of a recurrence that are sums of products of the same sequences with matrices.
struct SequenceProduct {
  llvm::SmallVector<mlir::Value> sequences;
  /// For each sequence, a matrix for each result.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> matrices;
  /// Vectors added to each row of a result: none, or one per result.
  llvm::SmallVector<mlir::Value> biases;
  /// True if the rows of the matrices are the contracted dimension.
  bool isTransposed = false;
  llvm::SmallVector<mlir::Value> destinations;

  int64_t getNumColumns() const;
  /// Returns true if the product is large enough for tiles.
  bool isLarge() const;
  /// Merges the results of a product of the same sequences. Returns false if the products cannot be
  /// merged.
  bool absorb(const SequenceProduct &other);
};

/// Returns the products of a recurrence without states whose body consists only of such products.
/// Fails without a diagnostic for other recurrences.
llvm::FailureOr<llvm::SmallVector<SequenceProduct, 0>> getSequenceProducts(RecurrenceOp op);
/// Returns true if a recurrence consists only of products that are large enough for tiles.
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
