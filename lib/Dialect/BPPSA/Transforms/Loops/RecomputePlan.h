//===- RecomputePlan.h - which steps can be computed again ------*- C++ -*-===//
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

/// A packed recurrence and the chain that goes back through it, for which arrays of a segment of
/// steps can take the place of arrays over all steps.
struct RecomputePlan {
  /// The trajectory of `state` without its last slot, or with `first` 1 without its first.
  struct Slots {
    unsigned state, first;
  };

  RecurrenceOp forward;
  ChainOp backward;
  /// What else works on the steps of a segment: sums of what the chain emits, and recurrences
  /// without states that read it.
  llvm::SmallVector<mlir::Operation *> sums, readers;
  /// For each result of `forward`, and each emitted value of `backward`: whether others read it.
  llvm::SmallVector<bool> isResultWhole, isEmittedWhole;
  /// Slices of trajectories that are read segment by segment.
  llvm::MapVector<mlir::Value, Slots> slots;
  /// Reads of final states of trajectories that are not whole.
  llvm::SmallVector<mlir::tensor::ExtractSliceOp> finalStates;
  /// Bytes that one step of one sample takes in arrays that are not whole, and its states.
  int64_t stepBytes = 0, stateBytes = 0;
};

/// The recurrences of `function` whose steps can be computed again; fails after a diagnostic where
/// a chain reads all steps of another loop at once. What the plans need in front of chains is moved
/// there.
llvm::FailureOr<std::vector<RecomputePlan>> planRecomputation(mlir::func::FuncOp function);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_RECOMPUTEPLAN_H
