//===- RecomputedLoops.h - loops that compute steps again -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_RECOMPUTEDLOOPS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_RECOMPUTEDLOOPS_H

#include "RecomputePlan.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace bppsa {

/// The function of the run time that says how many steps a segment has.
inline constexpr llvm::StringLiteral kRecomputedSteps = "bppsa_rt_recomputed_steps";

/// What loops are cut by: the memory of all of a function, what they keep of a step together, and
/// the packed sequences that are packed segment by segment.
struct RecomputeContext {
  int64_t limit = 0, totalStepBytes = 0;
  llvm::SmallPtrSet<mlir::Value, 8> packedBySegments;
};

/// Replaces a recurrence and its chain by loops over segments of steps. The first keeps the states
/// at the starts of segments; what the chain reads of the last segment follows it. The chain goes
/// back through the last segment, then through the others, each of which is computed again before.
/// With one segment both loops are empty.
class RecomputedLoops {
public:
  RecomputedLoops(const RecomputePlan &plan, const RecomputeContext &context)
      : plan(plan), context(context), forward(this->plan.forward), backward(this->plan.backward),
        builder(forward), loc(forward.getLoc()) {}

  /// Erases both, and what else the plan holds.
  void lower();

private:
  /// One segment: its number in time, and its steps.
  struct Segment {
    mlir::Value order, first, count;
  };
  /// Arrays of a segment: the results of the recurrence.
  using Results = llvm::SmallVector<mlir::Value>;

  void chooseSegments();
  Segment getSegment(mlir::Value order);
  mlir::Value addOne(mlir::Value index);

  struct Window;
  Window getWindow(mlir::Value array, mlir::Value first, mlir::Value count);
  Window getStart(mlir::Value starts, mlir::Value order);
  mlir::Value slice(mlir::Value array, mlir::Value first, mlir::Value count);
  mlir::Value sliceSequence(mlir::Value sequence, const Segment &segment);
  mlir::Value insert(mlir::Value part, mlir::Value whole, mlir::Value first, mlir::Value count);
  llvm::SmallVector<mlir::Value> getSizes(mlir::RankedTensorType type, mlir::Value count);
  mlir::Value createWhole(mlir::Type type, mlir::Value count);

  Results run(const Segment &segment, mlir::ValueRange starts);
  mlir::Value getFinalState(mlir::Value trajectory, const Segment &segment);
  mlir::Value insertStart(mlir::Value state, mlir::Value starts, mlir::Value order);
  void lowerForward();
  Results goOn(const Segment &segment, mlir::ValueRange carried);
  void replaceForward();

  llvm::SmallVector<mlir::Value> begin();
  Results goBack(const Segment &segment, const Results &results, mlir::ValueRange seeds,
                 mlir::ValueRange carried);
  void lowerBackward();
  void replaceBackward(mlir::ValueRange carried);

  RecomputePlan plan;
  const RecomputeContext &context;
  RecurrenceOp forward;
  ChainOp backward;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::Value numSteps, segmentSteps, numSegments, last;
  mlir::OpFoldResult numBlocks;
  /// For each state, `[segments, blocks, N, L]`.
  llvm::SmallVector<mlir::Value> starts;
  /// For each result of the recurrence, null where it is not whole.
  llvm::SmallVector<mlir::Value> wholes;
  Results lastResults;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_RECOMPUTEDLOOPS_H
