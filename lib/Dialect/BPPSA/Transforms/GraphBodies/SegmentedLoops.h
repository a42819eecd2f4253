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

/// Run-time function that returns the steps of a segment.
inline constexpr llvm::StringLiteral kSegmentSteps = "bppsa_rt_segment_steps";

/// Limit in bytes for the residuals of all loops, divided in proportion, and their bytes per step
/// and sample.
struct MemoryShare {
  int64_t totalStepBytes, limit;
};

/// Stores residuals for one segment of steps only. The forward loop leaves the last segment; the
/// chain recomputes earlier ones from the states at their starts.
class SegmentedLoops {
public:
  explicit SegmentedLoops(SegmentPlan plan) : plan(std::move(plan)) {}

  /// Keeps the loop until its chain is lowered.
  void lowerForward(MemoryShare share, const SteadyStates &steady);
  /// Erases the forward loop.
  void lowerBackward(const SteadyStates &steady);

private:
  class Writer;
  void eraseForward();

  SegmentPlan plan;
  /// Steps of a segment, number of segments, all steps, samples.
  mlir::Value segmentSteps, numSegments, numSteps;
  mlir::OpFoldResult rows;
  /// The buffer or the whole array of each result.
  llvm::SmallVector<mlir::Value> arrays;
  /// States at segment starts, then final states; null if not buffered.
  llvm::SmallVector<mlir::Value> starts;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_SEGMENTEDLOOPS_H
