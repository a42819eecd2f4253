//===- SegmentedLoops.h - loops that keep a segment -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_SEGMENTEDLOOPS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_SEGMENTEDLOOPS_H

#include "LoopLowering.h"
#include "SegmentPlan.h"

namespace bppsa {

/// The run-time function that returns the number of steps of a segment.
inline constexpr llvm::StringLiteral kSegmentSteps = "bppsa_rt_segment_steps";

/// The memory limit, in bytes, for the residuals of all loops of a function, and the bytes that
/// these loops keep for one step of one sample. The limit is divided in proportion.
struct MemoryShare {
  int64_t totalStepBytes, limit;
};

/// Lowers a loop and its chain so that residuals are stored for one segment of steps only. The
/// forward loop leaves the residuals of the last segment. Before the chain processes an earlier
/// segment, it recomputes the steps of the segment from the states at its start. With a single
/// segment, nothing is recomputed.
class SegmentedLoops {
public:
  explicit SegmentedLoops(SegmentPlan plan) : plan(std::move(plan)) {}

  /// Replaces the other uses of the loop, which is kept until its chain is lowered.
  void lowerForward(MemoryShare share, const SteadyStates &steady);
  /// Replaces the chain and erases the loop.
  void lowerBackward(const SteadyStates &steady);

private:
  class Writer;
  void eraseForward();

  SegmentPlan plan;
  /// Number of steps of a segment, of segments, of all steps, and of samples.
  mlir::Value segmentSteps, numSegments, numSteps;
  mlir::OpFoldResult rows;
  /// For each result of the loop, its buffer or, if it is not buffered, its array.
  llvm::SmallVector<mlir::Value> arrays;
  /// The states at the starts of segments, followed by the final states; null for states that are
  /// not buffered.
  llvm::SmallVector<mlir::Value> starts;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_SEGMENTEDLOOPS_H
