//===- TransitionLoops.h - loops that compute transitions -------*- C++ -*-===//
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

/// Transitions g -> A g + s, `memref[map, sample, column, row]`, or `memref[map, sample, row,
/// column]` by rows.
struct DeviceMaps : AffineMapLayout {
  mlir::Value memref;

  /// s is stored in the column after A.
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Value sample,
             mlir::Value map, mlir::Value column, mlir::Value row) const;
};

/// Computes columns of A in one loop each, and s in another.
class TransitionLoops {
public:
  /// Fails with a diagnostic if `mapping` is impossible.
  static llvm::FailureOr<TransitionLoops> create(const CotangentLoop &loop, GPUMappingAttr mapping);

  /// Links [first, last) have the transition `map`.
  struct Run {
    mlir::Value first, last, map;
  };
  using GetRun = llvm::function_ref<Run(mlir::OpBuilder &, mlir::Value run)>;
  /// Emits a loop per sample, column and run of `count` runs of equal length.
  void emitKernels(mlir::OpBuilder &builder, const DeviceMaps &maps, mlir::Value count,
                   GetRun getRun);

private:
  struct Runs {
    const DeviceMaps &maps;
    mlir::Value count;
    GetRun get;
  };
  /// Columns of transitions, and initial values by row and column.
  struct Columns {
    int64_t count, first;
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value row, mlir::Value column)> start;
  };

  /// A column or column tile of one run and sample.
  struct Loop {
    mlir::Value sample, run, column;
  };

  explicit TransitionLoops(const CotangentLoop &loop) : loop(loop) {}
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
  /// Exactly one of these is set.
  std::optional<ColumnLoop> byThreads;
  std::optional<ColumnTileLoop> byColumnTiles;
  std::optional<LinkLoop> byBlocks;
  std::optional<LinkLoop> injected;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_TRANSITIONLOOPS_H
