//===- RunRing.h - reads the vectors of several runs ahead ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_RUNRING_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_RUNRING_H

#include "UnitEmitter.h"

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

/// What a StepRing is to a block, this is to a warp whose threads walk neighbouring
/// columns of a few runs: it copies the vectors that they read to shared memory, once
/// for each run, some links before. Copies have no branches.
class RunRing {
public:
  /// For `sources`, arrays `[step, sample, row]` of f32, and runs with `numColumns`
  /// columns.
  RunRing(mlir::Location loc, llvm::ArrayRef<mlir::Value> sources, int64_t numColumns);

  /// The shared arrays that the ring needs.
  llvm::SmallVector<mlir::MemRefType> getSharedTypes() const;
  /// Begins to read the runs of the warp `thread`, a block, on `shared` of the types above.
  void begin(mlir::OpBuilder &builder, const LaunchedThread &thread, mlir::ValueRange shared,
             const ColumnRuns &runs);
  /// At the end of link number `link` of each run: asks for the one farthest ahead, and
  /// waits for the next one. The threads of the warp have to be synchronized after that.
  void advance(mlir::OpBuilder &builder, mlir::Value link);
  /// Element `row` of source `source` for link `link` of run `run` of those of the warp.
  mlir::Value load(mlir::OpBuilder &builder, size_t source, mlir::Value link, mlir::Value run,
                   int64_t row) const;

private:
  /// An element that a thread copies for each link.
  struct Copy {
    size_t source;
    mlir::Value to, sample, first, row;
  };
  int64_t getStride(size_t source) const;
  mlir::Value getSlot(mlir::OpBuilder &builder, mlir::Value link) const;
  void copy(mlir::OpBuilder &builder, mlir::Value link);
  void wait(mlir::OpBuilder &builder);

  mlir::Location loc;
  llvm::SmallVector<mlir::Value> sources;
  /// The most runs that the columns of a warp belong to.
  int64_t mostRuns;

  // Of the walk that is emitted.
  llvm::SmallVector<mlir::Value> rings;
  llvm::SmallVector<Copy> copies;
  const ColumnRuns *runs = nullptr;
  mlir::Value token;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_RUNRING_H
