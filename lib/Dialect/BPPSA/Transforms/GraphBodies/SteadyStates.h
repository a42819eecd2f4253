//===- SteadyStates.h - states that no step changes -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_STEADYSTATES_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_STEADYSTATES_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// States of loops in graph form that each step passes on as they are, such as what a decoder
/// attends to. Where nothing but chains reads all slots of their trajectories, the initial values
/// take the place of arrays over time.
class SteadyStates {
public:
  /// Finds those of the loops of `function` that `isIncluded`, and replaces reads of single slots.
  SteadyStates(mlir::func::FuncOp function, llvm::function_ref<bool(RecurrenceOp)> isIncluded);

  bool contains(mlir::Value trajectory) const { return trajectories.contains(trajectory); }
  /// The values `[B, d...]` of which an array over time that a chain saved is copies; null where it
  /// is an array of its own.
  mlir::Value lookup(mlir::Value saved) const { return arrays.lookup(saved); }

private:
  void add(RecurrenceOp loop, unsigned state);

  llvm::DenseSet<mlir::Value> trajectories;
  llvm::DenseMap<mlir::Value, mlir::Value> arrays;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_STEADYSTATES_H
