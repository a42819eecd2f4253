//===- TiledProducts.h - products of all steps, in tiles --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Which loops and sums are products of matrices that a GPU multiplies in tiles, `tiled_product`,
// and which of them one kernel has together. Operations are on memory.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_ANALYSIS_TILEDPRODUCTS_H
#define BPPSA_DIALECT_BGPU_ANALYSIS_TILEDPRODUCTS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Whether the rows of `array` can be copied: `[row, column]`, or a sequence `[step, sample,
/// column]`, the row step * samples + sample of which is that.
bool isTiledFactor(mlir::Value array);

/// Results of a recurrence: products of the same sequences with matrices, added up.
struct SequenceProduct {
  llvm::SmallVector<mlir::Value> sequences;
  /// For each sequence a matrix of each result.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> matrices;
  /// Vectors that are added to each row of a result; none, or one for each.
  llvm::SmallVector<mlir::Value> biases;
  /// Whether the rows of matrices are those that are summed over.
  bool isTransposed = false;
  llvm::SmallVector<mlir::Value> destinations;

  int64_t getNumColumns() const;
  /// Whether the product is worth tiles.
  bool isLarge() const;
  /// Takes in the results of a product of the same sequences; false for other products.
  bool absorb(const SequenceProduct &other);
};

/// The results of a recurrence without states whose body has nothing but such products. Fails for
/// others, without a diagnostic.
llvm::FailureOr<llvm::SmallVector<SequenceProduct, 0>> getSequenceProducts(RecurrenceOp op);
/// Whether a recurrence has nothing but products that are worth tiles.
bool areLargeProducts(RecurrenceOp op);

/// How many of `ops`, from the first on, one kernel may have together: outer sums that follow each
/// other, have the same right factor and are mapped alike.
size_t countTogether(llvm::ArrayRef<mlir::Operation *> ops);
/// Whether outer products are worth tiles, and whether they may be one above the other then.
bool areLargeSums(llvm::ArrayRef<OuterSumOp> ops);
bool canStack(llvm::ArrayRef<OuterSumOp> ops);

} // namespace bppsa

#endif // BPPSA_DIALECT_BGPU_ANALYSIS_TILEDPRODUCTS_H
