//===- CotangentLoop.h - chains after bufferization -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_COTANGENTLOOP_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_COTANGENTLOOP_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// A bufferized chain or transition; a transition has no seeds.
struct CotangentLoop {
  mlir::Operation *op;
  mlir::Block *body;
  mlir::ValueRange saved, seeds, injected, factors, captures, destinations;
  llvm::ArrayRef<int64_t> injectInto, sumWith;
  bool reverse;
  /// True if all sums are in one flat vector.
  bool flatSums;
  llvm::SmallVector<int64_t> stateSizes;

  mlir::ValueRange getEmitted() const;
  mlir::ValueRange getSums() const;

  size_t getNumStates() const { return stateSizes.size(); }
  int64_t getStateSize(size_t i) const { return stateSizes[i]; }
  mlir::Type getElementType() const;
  int64_t getTotalSize() const;
};

CotangentLoop getCotangentLoop(ChainOp op);
CotangentLoop getCotangentLoop(TransitionOp op);

struct LinkOptions {
  /// Without injected cotangents, the loop is linear in its seed.
  bool inject = true;
  /// True to write emitted sequences and accumulate sums.
  bool emit = true;
};

/// Clones the link. The arguments are saved values, cotangents, injected values if `options.inject`
/// is set, and captures.
std::unique_ptr<mlir::Region> cloneLink(const CotangentLoop &loop, LinkOptions options);

/// Layout of the affine maps g -> A g + s of runs of links.
struct AffineMapLayout {
  int64_t size;
  /// True if cotangents are injected, so that the map has an offset s.
  bool hasOffset;
  /// True if A is diagonal and stored as one column.
  bool isDiagonal;
  /// True if A is stored by rows, without an offset.
  bool byRows = false;

  /// Uses the structure from `bppsa-infer-structure`; A is dense without one.
  static AffineMapLayout get(const CotangentLoop &loop);
  static AffineMapLayout get(ApplyTransitionOp op);

  int64_t getNumMatrixColumns() const { return isDiagonal ? 1 : size; }
  /// Includes the offset.
  int64_t getNumColumns() const { return getNumMatrixColumns() + (hasOffset ? 1 : 0); }
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_COTANGENTLOOP_H
