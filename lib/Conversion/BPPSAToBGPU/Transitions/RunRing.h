//===- RunRing.h - read-ahead of several runs -------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_RUNRING_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_RUNRING_H

#include "../TimeLoops/StepSources.h"

namespace bppsa {

/// Runs of the columns of a kernel, with equal numbers of columns and links.
struct ColumnRuns {
  int64_t numColumns;
  mlir::Value numRuns, length;
  /// Returns the sample of a run and the position of its first link.
  llvm::function_ref<std::pair<mlir::Value, mlir::Value>(mlir::OpBuilder &, mlir::Value run)> at;
  llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value position)> stepAt;
};

/// Copies vectors of a few runs to shared memory, several links ahead. Unlike with `bgpu.fetch`,
/// the elements of a thread depend on its run, so the loop carries addresses.
class RunRing {
public:
  /// `sources` are f32 `[step, sample, row]`. A warp processes `columnsOfWarp` of a run's
  /// `numColumns`. Rows are read up to a multiple of `multiple`, repeating the last.
  RunRing(mlir::Location loc, llvm::ArrayRef<mlir::Value> sources, int64_t stages,
          int64_t numColumns, int64_t columnsOfWarp, int64_t multiple);

  // The following functions emit code in a kernel.

  /// Begins block `block`, which is one warp. Returns a tile of the next addresses.
  mlir::Value begin(mlir::OpBuilder &builder, mlir::Value block, const KernelArrays &arrays,
                    const ColumnRuns &runs);
  /// Requests the vectors farthest ahead from `places` and waits for the next link. Returns the
  /// next addresses.
  mlir::Value advance(mlir::OpBuilder &builder, mlir::Value link, mlir::Value places);
  /// Returns the vectors of `link` of all runs of the warp, by source.
  llvm::SmallVector<mlir::Value> getSlots(mlir::OpBuilder &builder, mlir::Value link) const;
  /// Called in the body of a thread. `run` counts over all runs.
  mlir::Value load(mlir::OpBuilder &builder, size_t source, mlir::Value slot, mlir::Value run,
                   mlir::Value row) const;

private:
  /// Copies `width` elements per link from address `place` to slot elements from `first` on.
  struct Copy {
    size_t source, place;
    int64_t first;
  };
  int64_t getNumRows(size_t source) const;
  int64_t getStride(size_t source) const;
  int64_t getWidth(size_t source) const;
  void planCopies();
  void allocate(mlir::OpBuilder &builder);
  void view(mlir::OpBuilder &builder, const KernelArrays &arrays);
  /// Return the destination, and the source address for link 0.
  mlir::Value getTarget(mlir::OpBuilder &builder, const Copy &copy, mlir::Value thread) const;
  mlir::Value getFirstPlace(mlir::OpBuilder &builder, const Copy &copy, mlir::Value thread) const;
  mlir::Value request(mlir::OpBuilder &builder, mlir::Value link, mlir::Value places);
  void wait(mlir::OpBuilder &builder, mlir::Value link) const;

  mlir::Location loc;
  llvm::SmallVector<mlir::Value> sources;
  int64_t stages, columnsOfWarp, multiple;
  int64_t maxRuns;
  llvm::SmallVector<Copy> copies;
  llvm::SmallVector<Copy> places;

  const ColumnRuns *runs = nullptr;
  mlir::Value firstRun;
  /// Strides are per step and per sample.
  struct Elements {
    mlir::Value array, ofStep, ofSample;
  };
  llvm::SmallVector<Elements> elements;
  llvm::SmallVector<mlir::Value> rings;
  llvm::SmallVector<mlir::Value> strides;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_RUNRING_H
