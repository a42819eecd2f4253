//===- StepSegments.h - arrays of segments of steps -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_STEPSEGMENTS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_STEPSEGMENTS_H

#include "RecomputePlan.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace bppsa {

/// Memory limit of a function's loops, bytes per step and sample, and sequences packed by segments.
struct RecomputeContext {
  int64_t limit = 0, totalStepBytes = 0;
  llvm::SmallPtrSet<mlir::Value, 8> packedBySegments;
};

/// Returns `whole`, `[blocks, T, N, L]`, with dynamic T.
mlir::RankedTensorType getSegmentType(mlir::Type whole);

/// Emits the segments of a recurrence and their parts of packed arrays.
class StepSegments {
public:
  /// Index in recurrence order, and range of time steps.
  struct Segment {
    mlir::Value order, first, count;
  };

  StepSegments(mlir::OpBuilder &builder, const RecomputePlan &plan, const RecomputeContext &context)
      : builder(builder), loc(plan.forward->getLoc()), plan(plan), context(context) {}

  /// Chooses the steps of a segment; call this first.
  void choose();
  mlir::OpFoldResult getNumBlocks() const { return numBlocks; }
  mlir::Value getNumSteps() const { return numSteps; }
  mlir::Value getNumSegments() const { return numSegments; }
  mlir::Value getLast() const { return last; }
  Segment get(mlir::Value order);

  mlir::Value getConstant(int64_t value);
  mlir::Value addOne(mlir::Value index);

  mlir::Value slice(mlir::Value array, mlir::Value first, mlir::Value count);
  /// Packs only these steps if all readers are packed by segments.
  mlir::Value sliceSequence(mlir::Value sequence, const Segment &segment);
  mlir::Value insert(mlir::Value part, mlir::Value whole, mlir::Value first, mlir::Value count);
  /// The array is written step by step; `count` is its second size.
  mlir::Value create(mlir::Type type, mlir::Value count);

  mlir::Value sliceStart(mlir::Type state, mlir::Value starts, mlir::Value order);
  mlir::Value insertStart(mlir::Value state, mlir::Value starts, mlir::Value order);
  mlir::Value sliceFinalState(mlir::Value trajectory, const Segment &segment);

private:
  struct Window;
  Window getWindow(mlir::Value array, mlir::Value first, mlir::Value count);
  Window getStart(mlir::Value starts, mlir::Value order);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const RecomputePlan &plan;
  const RecomputeContext &context;
  mlir::Value numSteps, segmentSteps, numSegments, last;
  mlir::OpFoldResult numBlocks;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_STEPSEGMENTS_H
