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

/// Replaces a recurrence and its chain with loops over segments of steps. The forward loop stores
/// the states at the starts of segments. After it, the last segment is run with all values that the
/// chain reads. The chain runs backward through the last segment and then through the others, each
/// of which is recomputed first. With a single segment, both loops are empty.
class RecomputedLoops {
public:
  RecomputedLoops(const RecomputePlan &plan, const RecomputeContext &context)
      : plan(plan), forward(this->plan.forward), backward(this->plan.backward), builder(forward),
        loc(forward.getLoc()), segments(builder, this->plan, context) {}

  /// Lowers the plan and erases its original operations.
  void lower();

private:
  using Segment = StepSegments::Segment;
  using Results = llvm::SmallVector<mlir::Value>;

  Results run(const Segment &segment, mlir::ValueRange starts);
  void lowerForward();
  Results goOn(const Segment &segment, mlir::ValueRange carried);
  void replaceForward();

  llvm::SmallVector<mlir::Value> begin();
  Results goBack(const Segment &segment, const Results &results, mlir::ValueRange seeds,
                 mlir::ValueRange carried);
  void lowerBackward();
  void replaceBackward(mlir::ValueRange carried);

  RecomputePlan plan;
  RecurrenceOp forward;
  ChainOp backward;
  mlir::OpBuilder builder;
  mlir::Location loc;
  StepSegments segments;
  /// States at the starts of segments, for each state an array `[segments, blocks, N, L]`.
  llvm::SmallVector<mlir::Value> starts;
  /// For each result of the recurrence, its complete array; null if it is not stored completely.
  llvm::SmallVector<mlir::Value> wholes;
  Results lastResults;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_RECOMPUTEDLOOPS_H
