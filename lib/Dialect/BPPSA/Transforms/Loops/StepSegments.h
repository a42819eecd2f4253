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

/// The memory limit for all loops of a function, the bytes that they keep for one step of one
/// sample, and the sequences that are packed segment by segment.
struct RecomputeContext {
  int64_t limit = 0, totalStepBytes = 0;
  llvm::SmallPtrSet<mlir::Value, 8> packedBySegments;
};

/// Returns the type of `whole`, `[blocks, T, N, L]`, with a dynamic number of steps.
mlir::RankedTensorType getSegmentType(mlir::Type whole);

/// Emits the segments of steps of a recurrence and their parts of packed arrays, at the insertion
/// point of the builder.
class StepSegments {
public:
  /// A segment: its index in the order of the recurrence, and its range of time steps.
  struct Segment {
    mlir::Value order, first, count;
  };

  StepSegments(mlir::OpBuilder &builder, const RecomputePlan &plan, const RecomputeContext &context)
      : builder(builder), loc(plan.forward->getLoc()), plan(plan), context(context) {}

  /// Emits the call that chooses the number of steps of a segment. Call this before other methods.
  void choose();
  mlir::OpFoldResult getNumBlocks() const { return numBlocks; }
  mlir::Value getNumSteps() const { return numSteps; }
  mlir::Value getNumSegments() const { return numSegments; }
  mlir::Value getLast() const { return last; }
  Segment get(mlir::Value order);

  mlir::Value getConstant(int64_t value);
  mlir::Value addOne(mlir::Value index);

  mlir::Value slice(mlir::Value array, mlir::Value first, mlir::Value count);
  /// Returns the steps of `segment` in `sequence`. Packs only these steps if all readers are packed
  /// segment by segment.
  mlir::Value sliceSequence(mlir::Value sequence, const Segment &segment);
  mlir::Value insert(mlir::Value part, mlir::Value whole, mlir::Value first, mlir::Value count);
  /// Allocates an array that a loop writes step by step. `count` is its second size.
  mlir::Value create(mlir::Type type, mlir::Value count);

  /// Returns the state of type `state` at the start of segment `order`, from the states of all
  /// segments.
  mlir::Value sliceStart(mlir::Type state, mlir::Value starts, mlir::Value order);
  mlir::Value insertStart(mlir::Value state, mlir::Value starts, mlir::Value order);
  /// Returns the state after `segment`.
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
