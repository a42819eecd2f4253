//===- TransitionLoops.h - loops that make maps g -> A g + s ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_TRANSITIONLOOPS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_TRANSITIONLOOPS_H

#include "../DeviceMaps.h"
#include "../TimeLoops/LinkLoop.h"
#include "ColumnLoop.h"
#include "ColumnTileLoop.h"

namespace bppsa {

/// Maps of runs of links, `memref[map, sample, column, row]`; by rows `memref[map, sample, row,
/// column]`.
struct DeviceMaps : AffineMapLayout {
  mlir::Value memref;

  /// Writes an entry of A, or of s behind its columns.
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Value sample,
             mlir::Value map, mlir::Value column, mlir::Value row) const;
};

/// The loops that make maps: one of each column of A, one of s.
class TransitionLoops {
public:
  /// As `mapping` says. Fails after a diagnostic where that is not possible.
  static llvm::FailureOr<TransitionLoops> create(const CotangentLoop &loop, GPUMappingAttr mapping);

  /// Positions [first, last) of the links of a run, and the number of their map.
  struct Run {
    mlir::Value first, last, map;
  };
  using GetRun = llvm::function_ref<Run(mlir::OpBuilder &, mlir::Value run)>;
  /// Emits kernels with a loop for each sample, each of `count` runs and each column. All runs have
  /// the same length.
  void emitKernels(mlir::OpBuilder &builder, const DeviceMaps &maps, mlir::Value count,
                   GetRun getRun);

private:
  struct Runs {
    const DeviceMaps &maps;
    mlir::Value count;
    GetRun get;
  };
  /// Columns of the maps, and what row `row` of column `column` of these starts as.
  struct Columns {
    int64_t count, first;
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value row, mlir::Value column)> start;
  };

  /// A column, or a column tile, of one run of one sample.
  struct Loop {
    mlir::Value sample, run, column;
  };

  explicit TransitionLoops(const CotangentLoop &loop) : loop(loop) {}
  /// Runs that are numbered, where each run has `ofRun` of them.
  mlir::Value countLoops(mlir::OpBuilder &builder, const Runs &runs, int64_t ofRun) const;
  Loop getLoopAt(mlir::OpBuilder &builder, const Runs &runs, int64_t ofRun,
                 mlir::Value number) const;
  void emitByBlocks(mlir::OpBuilder &builder, LinkLoop &steps, const Runs &runs,
                    const Columns &columns);
  void emitByThreads(mlir::OpBuilder &builder, ColumnLoop &steps, const Runs &runs,
                     const Columns &columns);
  void emitByColumnTiles(mlir::OpBuilder &builder, ColumnTileLoop &steps, const Runs &runs,
                         const Columns &columns);

  CotangentLoop loop;
  /// One of these loops the columns of A.
  std::optional<ColumnLoop> byThreads;
  std::optional<ColumnTileLoop> byColumnTiles;
  std::optional<LinkLoop> byBlocks;
  std::optional<LinkLoop> injected;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_TRANSITIONLOOPS_H
