//===- StepRing.h - reads the vectors of steps ahead of time ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_STEPRING_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_STEPRING_H

#include "../../GPULaunches/Place.h"
#include "CopySlots.h"
#include <functional>

namespace bppsa {

/// The vectors that a block reads at each position of a loop, copied to shared
/// memory some positions before: a read of device memory takes as long as several
/// steps of a small cell. Copies are asynchronous and need no registers; those of a
/// position are complete, and visible to all threads, at the barrier before it.
///
/// Requests have no branches, so that a step is one basic block, in which the assembler
/// can hide one latency behind another: threads that have nothing to copy, and positions
/// beyond the last, copy what nobody reads.
class StepRing {
public:
  /// For `sources`, arrays `[step, sample, row]`, of which shared memory has so many `stages`.
  /// With 0 they are read where they are.
  StepRing(mlir::Location loc, mlir::ValueRange sources, int64_t stages);

  /// Whether there is a ring.
  bool isUsed() const { return slots.getCount() > 0; }

  /// The shared arrays that the ring needs.
  llvm::SmallVector<mlir::MemRefType> getSharedTypes() const;

  /// The step at a position of the loop.
  using StepAt = std::function<mlir::Value(mlir::OpBuilder &, mlir::Value position)>;
  /// Begins the loop of positions [first, last) of `sample`, inside a launch, on
  /// `shared` of the types above.
  void begin(mlir::OpBuilder &builder, const LaunchedThread &thread, mlir::ValueRange shared,
             mlir::Value sample, mlir::Value first, mlir::Value last, StepAt stepAt);
  /// In `position`: asks for the one farthest ahead.
  void request(mlir::OpBuilder &builder, mlir::Value position);
  /// At the end of a position: waits for the next one. A barrier has to follow.
  void wait(mlir::OpBuilder &builder);
  /// The vectors of `position`, one for each source.
  llvm::SmallVector<Place> getPlaces(mlir::OpBuilder &builder, mlir::Value position);

private:
  void copy(mlir::OpBuilder &builder, mlir::Value position);

  mlir::Location loc;
  llvm::SmallVector<mlir::Value> sources;
  /// None without a ring.
  CopySlots slots;

  // Of the loop that is emitted.
  LaunchedThread thread = {};
  llvm::SmallVector<mlir::Value> rings;
  /// The elements of sources without gaps, which are read at the same vector; none of others.
  llvm::SmallVector<mlir::Value> elements;
  mlir::Value numSamples, sample, last;
  StepAt stepAt;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_STEPRING_H
