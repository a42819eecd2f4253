//===- CotangentLoop.h - chains and scans after bufferization ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BODIES_COTANGENTLOOP_H
#define BPPSA_LIB_CONVERSION_BODIES_COTANGENTLOOP_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// What `chain` and `scan` have in common, after bufferization.
struct CotangentLoop {
  mlir::Operation *op;
  mlir::Block *body;
  mlir::ValueRange saved, seeds, injected, factors, captures, destinations;
  llvm::ArrayRef<int64_t> injectInto, sumWith;
  bool reverse;

  // Destinations, after those of the cotangents of initial states.
  mlir::ValueRange getEmitted() const;
  mlir::ValueRange getSums() const;

  /// Rows of state `i`, and of all states together.
  int64_t getStateSize(size_t i) const;
  int64_t getTotalSize() const;
};

template <typename LoopOp> CotangentLoop getCotangentLoop(LoopOp op) {
  return {op,
          &op.getBody().front(),
          op.getSaved(),
          op.getSeeds(),
          op.getInjected(),
          op.getFactors(),
          op.getCaptures(),
          op.getDestinations(),
          op.getInjectInto(),
          op.getSumWith(),
          op.getReverse()};
}

/// What a walk over a chain computes beside the cotangents of the states.
struct WalkOptions {
  /// Adds the injected sequences: without them the walk is linear in its start.
  bool inject = true;
  /// Writes the emitted sequences, and adds up the sums.
  bool emit = true;
};

/// The link of `loop` as a walk with `options` evaluates it: its arguments are the
/// saved values, the cotangents of the states, the injected values where they are
/// added, and the captures.
std::unique_ptr<mlir::Region> cloneLink(const CotangentLoop &loop, WalkOptions options);

/// What the affine maps g -> A g + s of runs of links of one loop have in common.
struct AffineMapLayout {
  /// Rows of A.
  int64_t size;
  /// Whether cotangents are injected.
  bool hasOffset;
  /// Whether A is a diagonal, which is one column.
  bool isDiagonal;

  static AffineMapLayout get(const CotangentLoop &loop);

  /// Columns of A that are stored.
  int64_t getNumMatrixColumns() const { return isDiagonal ? 1 : size; }
  /// All columns that are stored.
  int64_t getNumColumns() const { return getNumMatrixColumns() + (hasOffset ? 1 : 0); }
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BODIES_COTANGENTLOOP_H
