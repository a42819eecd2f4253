//===- RunRing.h - reads the vectors of several runs ahead ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_RUNRING_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_RUNRING_H

#include "../TimeLoops/StepSources.h"

namespace bppsa {

/// The runs of links that the columns of a kernel belong to, each of which has the same number of
/// columns and of links.
struct ColumnRuns {
  int64_t numColumns;
  mlir::Value numRuns, length;
  /// A run's sample, and the position of its first link.
  llvm::function_ref<std::pair<mlir::Value, mlir::Value>(mlir::OpBuilder &, mlir::Value run)> at;
  /// The step at a position.
  llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value position)> stepAt;
};

/// Copies the vectors that neighbouring columns of a few runs read to shared memory, once for each
/// run, some links before. `bgpu.fetch` is that for a block whose threads read the same vectors.
/// Which elements a thread copies follows from its run, so loops carry where the next ones are.
/// Copies have no branches.
class RunRing {
public:
  /// For `sources`, arrays `[step, sample, row]` of f32, and runs with `numColumns`
  /// columns, of which a warp runs `columnsOfWarp` and reads rows up to a multiple of
  /// `multiple`, where the last one is repeated. Shared memory has so many `stages`.
  RunRing(mlir::Location loc, llvm::ArrayRef<mlir::Value> sources, int64_t stages,
          int64_t numColumns, int64_t columnsOfWarp, int64_t multiple);

  // Inside of a kernel.

  /// Begins to read the runs of block number `block`, a warp. Returns the places that threads read
  /// next, a tile, which the loop over links carries.
  mlir::Value begin(mlir::OpBuilder &builder, mlir::Value block, const KernelArrays &arrays,
                    const ColumnRuns &runs);
  /// At the end of link number `link` of each run: asks for the one farthest ahead, which is
  /// at `places`, and waits for the next one. Returns the next places.
  mlir::Value advance(mlir::OpBuilder &builder, mlir::Value link, mlir::Value places);
  /// The vectors of link `link` of all runs of the warp, one after the other, of each source.
  llvm::SmallVector<mlir::Value> getSlots(mlir::OpBuilder &builder, mlir::Value link) const;
  /// Element `row` of run number `run`, of all runs, in a slot of `source`; in the body of a
  /// thread.
  mlir::Value load(mlir::OpBuilder &builder, size_t source, mlir::Value slot, mlir::Value run,
                   mlir::Value row) const;

private:
  /// What a thread copies for each link, `width` elements: from the place number `place` to those
  /// behind `first` in a slot.
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
  /// Where a thread writes to, and reads from in link 0.
  mlir::Value getTarget(mlir::OpBuilder &builder, const Copy &copy, mlir::Value thread) const;
  mlir::Value getFirstPlace(mlir::OpBuilder &builder, const Copy &copy, mlir::Value thread) const;
  mlir::Value request(mlir::OpBuilder &builder, mlir::Value link, mlir::Value places);
  void wait(mlir::OpBuilder &builder, mlir::Value link) const;

  mlir::Location loc;
  llvm::SmallVector<mlir::Value> sources;
  int64_t stages, columnsOfWarp, multiple;
  /// The most runs that the columns of a warp belong to.
  int64_t maxRuns;
  llvm::SmallVector<Copy> copies;
  /// The copy that each place was found for.
  llvm::SmallVector<Copy> places;

  // Of the kernel that is emitted.
  const ColumnRuns *runs = nullptr;
  mlir::Value firstRun;
  /// The elements of each source from its first one on, and the strides of its steps and samples.
  struct Elements {
    mlir::Value array, ofStep, ofSample;
  };
  llvm::SmallVector<Elements> elements;
  llvm::SmallVector<mlir::Value> rings;
  /// How far each place moves with each link.
  llvm::SmallVector<mlir::Value> strides;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_RUNRING_H
