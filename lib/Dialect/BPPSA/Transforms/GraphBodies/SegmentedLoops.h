//===- SegmentedLoops.h - loops that keep residuals of a segment -*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_SEGMENTEDLOOPS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_SEGMENTEDLOOPS_H

#include "LoopLowering.h"
#include "SegmentPlan.h"

namespace bppsa {

/// The function of the run time that says how many steps a segment has.
inline constexpr llvm::StringLiteral kSegmentSteps = "bppsa_rt_segment_steps";

/// The most memory for what all loops of a function keep, in bytes, and what they keep of a step of
/// a sample together: each has its share.
struct MemoryShare {
  int64_t totalStepBytes, limit;
};

/// Writes a loop and its chain so that what the chain reads of each step is kept for one segment of
/// steps at a time. The last segment's is what the loop leaves; before an earlier one, its steps
/// are run again from the states at its start. With one segment nothing is run again.
class SegmentedLoops {
public:
  explicit SegmentedLoops(SegmentPlan plan) : plan(std::move(plan)) {}

  /// Replaces what else reads of the loop, which stays until its chain is lowered.
  void lowerForward(MemoryShare share, const SteadyStates &steady);
  /// Replaces the chain, and erases the loop.
  void lowerBackward(const SteadyStates &steady);

private:
  class Writer;
  void eraseForward();

  SegmentPlan plan;
  /// Steps of a segment, segments, steps and samples.
  mlir::Value segmentSteps, numSegments, numSteps;
  mlir::OpFoldResult rows;
  /// For each result of the loop: its buffer, or the whole array.
  llvm::SmallVector<mlir::Value> arrays;
  /// The states at the starts of segments, and the final ones; null for states that are whole.
  llvm::SmallVector<mlir::Value> starts;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_SEGMENTEDLOOPS_H
