//===- SteadyStates.h - states that never change ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_STEADYSTATES_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_STEADYSTATES_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// States that every step yields unchanged, such as the sequence a decoder attends to. If only
/// chains read whole trajectories, initial values replace them.
class SteadyStates {
public:
  /// Analyzes loops for which `isIncluded` holds and replaces reads of single slots.
  SteadyStates(mlir::func::FuncOp function, llvm::function_ref<bool(RecurrenceOp)> isIncluded);

  bool contains(mlir::Value trajectory) const { return trajectories.contains(trajectory); }
  /// Returns the `[B, d...]` in every slot of `saved`; null if slots differ.
  mlir::Value lookup(mlir::Value saved) const { return arrays.lookup(saved); }

private:
  void add(RecurrenceOp loop, unsigned state);

  llvm::DenseSet<mlir::Value> trajectories;
  llvm::DenseMap<mlir::Value, mlir::Value> arrays;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_STEADYSTATES_H
