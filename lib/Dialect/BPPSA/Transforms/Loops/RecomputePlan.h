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

/// A packed recurrence and its backward chain, with arrays of a segment of time steps instead of
/// arrays over all steps.
struct RecomputePlan {
  /// The trajectory of `state` without its last slot or, if `first` is 1, without its first slot.
  struct Slots {
    unsigned state, first;
  };

  RecurrenceOp forward;
  ChainOp backward;
  /// Other operations on the steps of a segment: sums of emitted sequences of the chain, and
  /// recurrences without states that read emitted sequences.
  llvm::SmallVector<mlir::Operation *> sums, readers;
  /// For each result of `forward` and each emitted sequence of `backward`, true if other operations
  /// read it.
  llvm::SmallVector<bool> isResultComplete, isEmittedWhole;
  /// Slices of trajectories that are read segment by segment.
  llvm::MapVector<mlir::Value, Slots> slots;
  /// Reads of final states of trajectories that are not stored completely.
  llvm::SmallVector<mlir::tensor::ExtractSliceOp> finalStates;
  /// Bytes, for one step of one sample, of arrays that are not stored completely, and of the
  /// states.
  int64_t stepBytes = 0, stateBytes = 0;
};

/// Plans the recurrences of `function` whose steps can be recomputed. Moves operations that the
/// plans need to before the chains. Fails with a diagnostic if a chain reads all steps of another
/// loop at once.
llvm::FailureOr<std::vector<RecomputePlan>> planRecomputation(mlir::func::FuncOp function);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_RECOMPUTEPLAN_H
