//===- RecomputedLoops.h - loops that compute steps again -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_RECOMPUTEDLOOPS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_RECOMPUTEDLOOPS_H

#include "StepSegments.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

/// Replaces a recurrence and its chain by loops over segments of steps. The first keeps the states
/// at the starts of segments; what the chain reads of the last segment follows it. The chain goes
/// back through the last segment, then through the others, each of which is computed again before.
/// With one segment both loops are empty.
class RecomputedLoops {
public:
  RecomputedLoops(const RecomputePlan &plan, const RecomputeContext &context)
      : plan(plan), forward(this->plan.forward), backward(this->plan.backward), builder(forward),
        loc(forward.getLoc()), segments(builder, this->plan, context) {}

  /// Erases both, and what else the plan holds.
  void lower();

private:
  using Segment = StepSegments::Segment;
  /// Arrays of a segment: the results of the recurrence.
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
  /// For each state, `[segments, blocks, N, L]`.
  llvm::SmallVector<mlir::Value> starts;
  /// For each result of the recurrence, null where it is not whole.
  llvm::SmallVector<mlir::Value> wholes;
  Results lastResults;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_RECOMPUTEDLOOPS_H
