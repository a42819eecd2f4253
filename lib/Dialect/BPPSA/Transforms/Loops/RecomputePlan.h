//===- RecomputePlan.h - plans recomputation of steps -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_RECOMPUTEPLAN_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_RECOMPUTEPLAN_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"
#include <vector>

namespace bppsa {

/// A packed recurrence and its backward chain, with arrays for a segment of time steps.
struct RecomputePlan {
  /// The trajectory of `state` without its last slot or, if `first` is 1, its first.
  struct Slots {
    unsigned state, first;
  };

  RecurrenceOp forward;
  ChainOp backward;
  /// Other operations on segments: sums of emitted sequences, and stateless recurrences that read
  /// them.
  llvm::SmallVector<mlir::Operation *> sums, readers;
  /// For each result of `forward` and each emitted sequence of `backward`, true if other operations
  /// read it.
  llvm::SmallVector<bool> isResultComplete, isEmittedWhole;
  /// Slices of trajectories that are read segment by segment.
  llvm::MapVector<mlir::Value, Slots> slots;
  /// Reads of final states of trajectories not stored completely.
  llvm::SmallVector<mlir::tensor::ExtractSliceOp> finalStates;
  /// Bytes per step and sample of arrays not stored completely, and of states.
  int64_t stepBytes = 0, stateBytes = 0;
};

/// Moves operations that plans need before the chains. Fails with a diagnostic if a chain reads all
/// steps of another loop at once.
llvm::FailureOr<std::vector<RecomputePlan>> planRecomputation(mlir::func::FuncOp function);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_RECOMPUTEPLAN_H
