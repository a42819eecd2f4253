//===- CotangentLoop.h - chains after bufferization -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_COTANGENTLOOP_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_COTANGENTLOOP_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// The parts of a bufferized chain or transition. A transition has no seeds.
struct CotangentLoop {
  mlir::Operation *op;
  mlir::Block *body;
  mlir::ValueRange saved, seeds, injected, factors, captures, destinations;
  llvm::ArrayRef<int64_t> injectInto, sumWith;
  bool reverse;
  /// True if all sums are stored in one flat vector.
  bool flatSums;
  llvm::SmallVector<int64_t> stateSizes;

  // Returns the destinations of the emitted sequences.
  mlir::ValueRange getEmitted() const;
  mlir::ValueRange getSums() const;

  size_t getNumStates() const { return stateSizes.size(); }
  int64_t getStateSize(size_t i) const { return stateSizes[i]; }
  /// Returns the element type of the cotangents.
  mlir::Type getElementType() const;
  int64_t getTotalSize() const;
};

CotangentLoop getCotangentLoop(ChainOp op);
CotangentLoop getCotangentLoop(TransitionOp op);

/// Optional parts of a link.
struct LinkOptions {
  /// Adds the injected cotangents. Without them, the loop is linear in its seed.
  bool inject = true;
  /// Writes the emitted sequences and accumulates the sums.
  bool emit = true;
};

/// Clones the link of `loop` with the parts that `options` selects. The arguments of the clone are
/// the saved values, the cotangents of the states, the injected values if `options.inject` is set,
/// and the captures.
std::unique_ptr<mlir::Region> cloneLink(const CotangentLoop &loop, LinkOptions options);

/// The layout of the affine maps g -> A g + s of runs of links of one loop.
struct AffineMapLayout {
  /// Number of rows of A.
  int64_t size;
  /// True if cotangents are injected, so that the map has an offset s.
  bool hasOffset;
  /// True if A is diagonal. A diagonal is stored as one column.
  bool isDiagonal;
  /// True if A is stored by rows instead of columns. Maps stored by rows have no offset.
  bool byRows = false;

  /// Derives the layout from the structure that `bppsa-infer-structure` attached to the chain.
  /// Without a structure, A is a dense matrix.
  static AffineMapLayout get(const CotangentLoop &loop);
  static AffineMapLayout get(ApplyTransitionOp op);

  int64_t getNumMatrixColumns() const { return isDiagonal ? 1 : size; }
  /// Number of stored columns, including the offset.
  int64_t getNumColumns() const { return getNumMatrixColumns() + (hasOffset ? 1 : 0); }
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_COTANGENTLOOP_H
