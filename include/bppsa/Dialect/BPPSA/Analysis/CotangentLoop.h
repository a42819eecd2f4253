//===- CotangentLoop.h - chains after bufferization -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_COTANGENTLOOP_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_COTANGENTLOOP_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// The parts of a chain after bufferization; of a transition, which has no seeds.
struct CotangentLoop {
  mlir::Operation *op;
  mlir::Block *body;
  mlir::ValueRange saved, seeds, injected, factors, captures, destinations;
  llvm::ArrayRef<int64_t> injectInto, sumWith;
  bool reverse;
  /// Whether the sums are one vector.
  bool flatSums;
  /// Rows of each state.
  llvm::SmallVector<int64_t> stateSizes;

  // Destinations, after those of the cotangents of initial states.
  mlir::ValueRange getEmitted() const;
  mlir::ValueRange getSums() const;

  size_t getNumStates() const { return stateSizes.size(); }
  int64_t getStateSize(size_t i) const { return stateSizes[i]; }
  /// That of cotangents.
  mlir::Type getElementType() const;
  /// Rows of all states together.
  int64_t getTotalSize() const;
};

CotangentLoop getCotangentLoop(ChainOp op);
CotangentLoop getCotangentLoop(TransitionOp op);

/// What a loop over a chain computes beside the cotangents of the states.
struct LinkOptions {
  /// Adds the injected sequences: without them the loop is linear in its start.
  bool inject = true;
  /// Writes the emitted sequences, and adds up the sums.
  bool emit = true;
};

/// The link of `loop` as a loop with `options` evaluates it: its arguments are the
/// saved values, the cotangents of the states, the injected values where they are
/// added, and the captures.
std::unique_ptr<mlir::Region> cloneLink(const CotangentLoop &loop, LinkOptions options);

/// What the affine maps g -> A g + s of runs of links of one loop have in common.
struct AffineMapLayout {
  /// Rows of A.
  int64_t size;
  /// Whether cotangents are injected.
  bool hasOffset;
  /// Whether A is a diagonal, which is one column.
  bool isDiagonal;
  /// Whether rows of A lie one after the other, not columns; there is no offset then.
  bool byRows = false;

  /// By the structure that `bppsa-infer-structure` gave the chain: any matrix without one.
  static AffineMapLayout get(const CotangentLoop &loop);
  /// Of the transition that `op` applies.
  static AffineMapLayout get(ApplyTransitionOp op);

  /// Columns of A that are stored.
  int64_t getNumMatrixColumns() const { return isDiagonal ? 1 : size; }
  /// All columns that are stored.
  int64_t getNumColumns() const { return getNumMatrixColumns() + (hasOffset ? 1 : 0); }
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_COTANGENTLOOP_H
