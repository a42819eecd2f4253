//===- StepDims.h - time dimensions of arrays -------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_KERNELS_STEPDIMS_H
#define BPPSA_LIB_CODEGEN_CPU_KERNELS_STEPDIMS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace bppsa {

inline mlir::ValueRange getTrajectories(RecurrenceOp loop) {
  return loop.getDestinations().take_front(loop.getInitial().size());
}

/// Time and samples.
inline constexpr unsigned kRowDims = 2;

/// Finds the dimension of each array of a block that counts time steps.
class StepDims {
public:
  explicit StepDims(mlir::Block &block);

  /// For each operand of an operation that processes steps one by one, the time dimension. Empty
  /// for operands shared by all steps, and for trajectories, which have one more slot.
  using OfOperands = llvm::SmallVector<std::optional<int64_t>>;
  std::optional<OfOperands> find(mlir::Operation *op) const;

  bool haveSameSteps(mlir::Value a, int64_t dim, mlir::Value b, int64_t dimOfB) const {
    return steps.isEquivalent({a.getAsOpaquePointer(), dim}, {b.getAsOpaquePointer(), dimOfB});
  }
  /// Returns true if `array` is a trajectory without the initial state: the state after each step.
  bool holdsStatesAfterSteps(mlir::Value array) const { return statesBehind.contains(array); }

private:
  std::optional<OfOperands> findOfLoop(RecurrenceOp loop) const;
  void join(mlir::Value a, int64_t dim, mlir::Value b, int64_t dimOfB) {
    steps.unionSets({a.getAsOpaquePointer(), dim}, {b.getAsOpaquePointer(), dimOfB});
  }
  void joinTrajectories(RecurrenceOp loop);

  llvm::EquivalenceClasses<std::pair<void *, int64_t>> steps;
  llvm::DenseSet<mlir::Value> statesBehind;
  /// True if a loop runs in reverse. Loops of both directions run in parallel.
  bool hasDirections = false;
};

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_KERNELS_STEPDIMS_H
