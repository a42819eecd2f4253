//===- RunRing.h - read-ahead of several runs -------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_RUNRING_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_RUNRING_H

#include "../TimeLoops/StepSources.h"

namespace bppsa {

/// The runs of links to which the columns of a kernel belong. All runs have the same number of
/// columns and links.
struct ColumnRuns {
  int64_t numColumns;
  mlir::Value numRuns, length;
  /// Returns the sample of a run and the position of its first link.
  llvm::function_ref<std::pair<mlir::Value, mlir::Value>(mlir::OpBuilder &, mlir::Value run)> at;
  llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value position)> stepAt;
};

/// Copies the vectors that neighbouring columns of a few runs read to shared memory, once per run,
/// several links ahead. `bgpu.fetch` does the same for blocks whose threads read the same vectors.
/// The elements that a thread copies depend on its run, so the loop carries their addresses. Copies
/// are branch-free.
class RunRing {
public:
  /// `sources` are f32 arrays `[step, sample, row]`. A run has `numColumns` columns, of which a
  /// warp processes `columnsOfWarp`. Rows are read up to a multiple of `multiple`, repeating the
  /// last row. The ring has `stages` stages.
  RunRing(mlir::Location loc, llvm::ArrayRef<mlir::Value> sources, int64_t stages,
          int64_t numColumns, int64_t columnsOfWarp, int64_t multiple);

  // The following functions are called inside of a kernel.

  /// Begins reading the runs of block `block`, which is one warp. Returns a tile of the next
  /// addresses of each thread, which the loop over links carries.
  mlir::Value begin(mlir::OpBuilder &builder, mlir::Value block, const KernelArrays &arrays,
                    const ColumnRuns &runs);
  /// Called at the end of link `link`: requests the vectors farthest ahead from `places` and waits
  /// for the vectors of the next link. Returns the next addresses.
  mlir::Value advance(mlir::OpBuilder &builder, mlir::Value link, mlir::Value places);
  /// Returns, for each source, the vectors of link `link` of all runs of the warp.
  llvm::SmallVector<mlir::Value> getSlots(mlir::OpBuilder &builder, mlir::Value link) const;
  /// Loads element `row` of run `run`, counted over all runs, from a slot of `source`. Called in
  /// the body of a thread.
  mlir::Value load(mlir::OpBuilder &builder, size_t source, mlir::Value slot, mlir::Value run,
                   mlir::Value row) const;

private:
  /// A copy of `width` elements by a thread for each link: from address `place` to the elements
  /// after `first` in a slot.
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
  /// Return the destination of a copy, and its source address for link 0.
  mlir::Value getTarget(mlir::OpBuilder &builder, const Copy &copy, mlir::Value thread) const;
  mlir::Value getFirstPlace(mlir::OpBuilder &builder, const Copy &copy, mlir::Value thread) const;
  mlir::Value request(mlir::OpBuilder &builder, mlir::Value link, mlir::Value places);
  void wait(mlir::OpBuilder &builder, mlir::Value link) const;

  mlir::Location loc;
  llvm::SmallVector<mlir::Value> sources;
  int64_t stages, columnsOfWarp, multiple;
  /// The maximum number of runs to which the columns of a warp belong.
  int64_t maxRuns;
  llvm::SmallVector<Copy> copies;
  /// The copy for which each address was computed.
  llvm::SmallVector<Copy> places;

  // State of the emitted kernel.
  const ColumnRuns *runs = nullptr;
  mlir::Value firstRun;
  /// The elements of a source, and its strides for steps and samples.
  struct Elements {
    mlir::Value array, ofStep, ofSample;
  };
  llvm::SmallVector<Elements> elements;
  llvm::SmallVector<mlir::Value> rings;
  /// The increment of each address per link.
  llvm::SmallVector<mlir::Value> strides;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_RUNRING_H
