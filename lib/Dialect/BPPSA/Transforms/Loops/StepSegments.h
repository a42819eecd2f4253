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

/// What loops are cut by: the memory of all of a function, what they keep of a step together, and
/// the packed sequences that are packed segment by segment.
struct RecomputeContext {
  int64_t limit = 0, totalStepBytes = 0;
  llvm::SmallPtrSet<mlir::Value, 8> packedBySegments;
};

/// `[blocks, T, N, L]` with any number of steps.
mlir::RankedTensorType getSegmentType(mlir::Type whole);

/// The segments of steps of a recurrence, and what belongs to one of them in packed arrays. All is
/// emitted where the builder is.
class StepSegments {
public:
  /// One segment: its number in the order of the recurrence, and its steps in time.
  struct Segment {
    mlir::Value order, first, count;
  };

  StepSegments(mlir::OpBuilder &builder, const RecomputePlan &plan, const RecomputeContext &context)
      : builder(builder), loc(plan.forward->getLoc()), plan(plan), context(context) {}

  /// Asks how many steps a segment has. The others use what it emits.
  void choose();
  mlir::OpFoldResult getNumBlocks() const { return numBlocks; }
  mlir::Value getNumSteps() const { return numSteps; }
  mlir::Value getNumSegments() const { return numSegments; }
  /// The number of the last segment.
  mlir::Value getLast() const { return last; }
  Segment get(mlir::Value order);

  mlir::Value getConstant(int64_t value);
  mlir::Value addOne(mlir::Value index);

  /// The steps [first, first + count) of `array`.
  mlir::Value slice(mlir::Value array, mlir::Value first, mlir::Value count);
  /// The steps of `segment` in `sequence`, packed for it alone where nothing else reads it packed.
  mlir::Value sliceSequence(mlir::Value sequence, const Segment &segment);
  mlir::Value insert(mlir::Value part, mlir::Value whole, mlir::Value first, mlir::Value count);
  /// An array of its own, which a loop writes step by step; `count` is its second size.
  mlir::Value create(mlir::Type type, mlir::Value count);

  /// The state of type `state` at the start of segment `order`, from those of all segments.
  mlir::Value sliceStart(mlir::Type state, mlir::Value starts, mlir::Value order);
  mlir::Value insertStart(mlir::Value state, mlir::Value starts, mlir::Value order);
  /// The state that `segment` leaves behind.
  mlir::Value sliceFinalState(mlir::Value trajectory, const Segment &segment);

private:
  /// Offsets and sizes of a slice.
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
