//===- RecomputedLoops.h - loops that recompute steps -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_RECOMPUTEDLOOPS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_RECOMPUTEDLOOPS_H

#include "StepSegments.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

/// Replaces a recurrence and its chain with loops over segments. The forward loop stores states at
/// segment starts; the chain runs backward from the last segment and recomputes each earlier one.
class RecomputedLoops {
public:
  RecomputedLoops(const RecomputePlan &plan, const RecomputeContext &context)
      : plan(plan), forward(this->plan.forward), backward(this->plan.backward), builder(forward),
        loc(forward.getLoc()), segments(builder, this->plan, context) {}

  void lower();

private:
  using Segment = StepSegments::Segment;
  using Results = llvm::SmallVector<mlir::Value>;

  Results run(const Segment &segment, mlir::ValueRange starts);
  void lowerForward();
  Results runForwardSegment(const Segment &segment, mlir::ValueRange carried);
  void replaceForward();

  llvm::SmallVector<mlir::Value> begin();
  Results runBackwardSegment(const Segment &segment, const Results &results, mlir::ValueRange seeds,
                             mlir::ValueRange carried);
  void lowerBackward();
  void replaceBackward(mlir::ValueRange carried);

  RecomputePlan plan;
  RecurrenceOp forward;
  ChainOp backward;
  mlir::OpBuilder builder;
  mlir::Location loc;
  StepSegments segments;
  /// Arrays `[segments, blocks, N, L]`, one per state.
  llvm::SmallVector<mlir::Value> starts;
  /// Complete array of each result; null if not stored.
  llvm::SmallVector<mlir::Value> wholes;
  Results lastResults;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_RECOMPUTEDLOOPS_H
