//===- RunRing.h - reads the vectors of several runs ahead ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_RUNRING_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_RUNRING_H

#include "../../GPULaunches/Place.h"
#include "CopySlots.h"

namespace bppsa {

/// The runs of links that the columns of a launch belong to, each of which has the
/// same number of columns and of links.
struct ColumnRuns {
  int64_t numColumns;
  mlir::Value numRuns, length;
  /// A run's sample, and the position of its first link.
  llvm::function_ref<std::pair<mlir::Value, mlir::Value>(mlir::OpBuilder &, mlir::Value run)> at;
  /// The step at a position.
  llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value position)> stepAt;
};

/// What a StepRing is to a block, this is to a warp whose threads run neighbouring
/// columns of a few runs: it copies the vectors that they read to shared memory, once
/// for each run, some links before. Copies have no branches.
class RunRing {
public:
  /// For `sources`, arrays `[step, sample, row]` of f32, and runs with `numColumns`
  /// columns, of which a warp runs `columnsOfWarp` and reads rows up to a multiple of
  /// `multiple`, where the last one is repeated. Shared memory has so many `stages`.
  RunRing(mlir::Location loc, llvm::ArrayRef<mlir::Value> sources, int64_t stages,
          int64_t numColumns, int64_t columnsOfWarp, int64_t multiple);

  /// The shared arrays that the ring needs.
  llvm::SmallVector<mlir::MemRefType> getSharedTypes() const;
  /// Begins to read the runs of the warp `thread`, a block, on `shared` of the types above.
  /// Returns the places that are read next, which the loop over links carries.
  llvm::SmallVector<mlir::Value> begin(mlir::OpBuilder &builder, const LaunchedThread &thread,
                                       mlir::ValueRange shared, const ColumnRuns &runs);
  /// At the end of link number `link` of each run: asks for the one farthest ahead, which is
  /// at `places`, and waits for the next one. The threads of the warp have to be synchronized
  /// after that. Returns the next places.
  llvm::SmallVector<mlir::Value> advance(mlir::OpBuilder &builder, mlir::Value link,
                                         mlir::ValueRange places);
  /// The number of run `run` among those of the warp that was begun.
  mlir::Value getRunOfWarp(mlir::OpBuilder &builder, mlir::Value run) const;
  /// Element `row` of source `source` for link `link` of run `run` of those of the warp.
  mlir::Value load(mlir::OpBuilder &builder, size_t source, mlir::Value link, mlir::Value run,
                   mlir::Value row) const;

private:
  /// What a thread copies for each link: an element, or as many as are copied together.
  struct Copy {
    size_t source, place;
    mlir::Value to;
  };
  int64_t getNumRows(size_t source) const;
  int64_t getStride(size_t source) const;
  int64_t getWidth(size_t source) const;
  std::pair<mlir::Value, llvm::SmallVector<mlir::Value>> flatten(mlir::OpBuilder &builder,
                                                                 size_t source) const;
  llvm::SmallVector<mlir::Value> copy(mlir::OpBuilder &builder, mlir::Value link,
                                      mlir::ValueRange places);

  mlir::Location loc;
  llvm::SmallVector<mlir::Value> sources;
  CopySlots slots;
  int64_t columnsOfWarp, multiple;
  /// The most runs that the columns of a warp belong to.
  int64_t mostRuns;

  // Of the loop that is emitted.
  llvm::SmallVector<mlir::Value> rings, elements;
  llvm::SmallVector<Copy> copies;
  /// How far a place moves with each link.
  llvm::SmallVector<mlir::Value> strides;
  const ColumnRuns *runs = nullptr;
  mlir::Value firstRun;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_RUNRING_H
