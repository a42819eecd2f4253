//===- StepDims.h - where the steps of arrays are ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_KERNELS_STEPDIMS_H
#define BPPSA_LIB_CODEGEN_CPU_KERNELS_STEPDIMS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace bppsa {

/// The trajectories that a loop on memory writes, one for each of its states.
inline mlir::ValueRange getTrajectories(RecurrenceOp loop) {
  return loop.getDestinations().take_front(loop.getInitial().size());
}

/// The dimensions that count the rows of what graph operations treat step by step: time and
/// samples.
inline constexpr unsigned kRowDims = 2;

/// Which dimension of the arrays of a block of operations has the steps.
class StepDims {
public:
  explicit StepDims(mlir::Block &block);

  /// For each operand of an operation that treats one step after the other, the dimension that has
  /// the steps, or nothing for what is the same at all of them and for trajectories, which have a
  /// slot more.
  using OfOperands = llvm::SmallVector<std::optional<int64_t>>;
  std::optional<OfOperands> find(mlir::Operation *op) const;

  /// Whether dimensions of arrays have the same steps.
  bool haveSameSteps(mlir::Value a, int64_t dim, mlir::Value b, int64_t dimOfB) const {
    return steps.isEquivalent({a.getAsOpaquePointer(), dim}, {b.getAsOpaquePointer(), dimOfB});
  }
  /// Whether `array` is a trajectory without the initial state: the states behind each step.
  bool isStatesBehind(mlir::Value array) const { return statesBehind.contains(array); }

private:
  std::optional<OfOperands> findOfLoop(RecurrenceOp loop) const;
  void join(mlir::Value a, int64_t dim, mlir::Value b, int64_t dimOfB) {
    steps.unionSets({a.getAsOpaquePointer(), dim}, {b.getAsOpaquePointer(), dimOfB});
  }
  void joinTrajectories(RecurrenceOp loop);

  /// Arrays with a dimension.
  llvm::EquivalenceClasses<std::pair<void *, int64_t>> steps;
  llvm::DenseSet<mlir::Value> statesBehind;
  /// Whether another loop goes the other way: both run side by side.
  bool hasDirections = false;
};

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_KERNELS_STEPDIMS_H
