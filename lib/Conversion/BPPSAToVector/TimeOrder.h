//===- TimeOrder.h - order of time steps ------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_TIMEORDER_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_TIMEORDER_H

#include "BPPSAToVector.h"

namespace bppsa {

/// Direction of a time loop: static, or set by an enclosing `bppsa.reverse_if`.
class TimeOrder {
public:
  /// With `isBackward`, the last step is first unless a `bppsa.reverse_if` reverses the loop.
  TimeOrder(mlir::Operation *loop, bool isBackward);

  /// Visits the steps or blocks [first, last) in order.
  void emitFor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value first, mlir::Value last,
               llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body) const;

  void emitForSlabs(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value block,
                    mlir::Value numSteps,
                    llvm::function_ref<void(mlir::OpBuilder &, const LaneSlab &)> body) const;

  /// Returns the first visited of `count` slots.
  mlir::Value getFirst(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value count) const;

  mlir::Value shift(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value step, int64_t forward,
                    int64_t backward) const;

  /// Returns the step visited `ahead` steps later, clamped to the last.
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
