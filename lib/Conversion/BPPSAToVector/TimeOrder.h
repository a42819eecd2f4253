//===- TimeOrder.h - order of time steps ------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_TIMEORDER_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_TIMEORDER_H

#include "BPPSAToVector.h"

namespace bppsa {

/// The order in which a time loop visits its steps: its static direction, or the run-time direction
/// of an enclosing `bppsa.reverse_if`.
class TimeOrder {
public:
  /// `isBackward` states that the last step comes first unless a `bppsa.reverse_if` reverses the
  /// loop.
  TimeOrder(mlir::Operation *loop, bool isBackward);

  /// Emits `body` for the steps or blocks of steps [first, last) in order.
  void emitFor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value first, mlir::Value last,
               llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body) const;

  /// Emits `body` for the slabs of `numSteps` steps of batch block `block` in order.
  void emitForSlabs(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value block,
                    mlir::Value numSteps,
                    llvm::function_ref<void(mlir::OpBuilder &, const LaneSlab &)> body) const;

  /// Returns the slot that is visited first of `count` slots.
  mlir::Value getFirst(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value count) const;

  /// Returns `step` plus the offset for the direction.
  mlir::Value shift(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value step, int64_t forward,
                    int64_t backward) const;

  /// Returns the step that is visited `ahead` steps after `step`, clamped to the last visited step.
  mlir::Value getLaterStep(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value step,
                           int64_t ahead, mlir::Value count) const;

private:
  mlir::Value select(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value forward,
                     mlir::Value backward) const;

  bool isBackward;
  /// The condition of the `bppsa.reverse_if`, or null.
  mlir::Value reverseCondition;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_TIMEORDER_H
