//===- TimeOrder.h - in which order a loop visits its steps -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_TIMEORDER_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_TIMEORDER_H

#include "BPPSAToVector.h"

namespace bppsa {

/// The order in which a time loop visits its steps: as the loop says, or with a `bppsa.reverse_if`
/// around it as that says when the program runs.
class TimeOrder {
public:
  /// With `isBackward` the last step comes first, if nothing turns the loop round.
  TimeOrder(mlir::Operation *loop, bool isBackward);

  /// Emits `body` for each of the steps, or blocks of steps, [first, last) in this order.
  void emitFor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value first, mlir::Value last,
               llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body) const;

  /// Emits `body` for the slabs of `numSteps` steps of batch block `block` in this order.
  void emitForSlabs(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value block,
                    mlir::Value numSteps,
                    llvm::function_ref<void(mlir::OpBuilder &, const LaneSlab &)> body) const;

  /// Which one of `count` slots comes first.
  mlir::Value getFirst(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value count) const;

  /// `step` plus one of two numbers.
  mlir::Value shift(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value step, int64_t forward,
                    int64_t backward) const;

  /// The one of `count` steps that comes `ahead` steps behind `step`, or else the last to come.
  mlir::Value getLaterStep(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value step,
                           int64_t ahead, mlir::Value count) const;

private:
  /// `forward` or `backward`, whichever the order is.
  mlir::Value select(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value forward,
                     mlir::Value backward) const;

  bool isBackward;
  /// Null without a `bppsa.reverse_if`.
  mlir::Value isTurned;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_TIMEORDER_H
