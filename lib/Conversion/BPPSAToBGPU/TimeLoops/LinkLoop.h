//===- LinkLoop.h - a block runs links of a sample --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_LINKLOOP_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_LINKLOOP_H

#include "StepSources.h"
#include "StepTiles.h"
#include "SumTiles.h"
#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"

namespace bppsa {

/// Applies the link of a chain to the cotangent of one sample, step by step, in a kernel. The loop
/// over steps carries the cotangent of each state as a tile, and sums of what links yield. A block
/// shares those that products read, and fetches what a step reads of sequences.
class LinkLoop {
public:
  /// For blocks of `mapping`. Fails after a diagnostic, where the link cannot be emitted.
  static llvm::FailureOr<LinkLoop> create(const CotangentLoop &loop, LinkOptions options,
                                          GPUMappingAttr mapping);

  /// A kernel of `numBlocks` blocks that run `body`, which may run steps. Where the link has
  /// sums that are not flat, another kernel adds up those of the blocks.
  void emitKernel(mlir::OpBuilder &builder, mlir::Value numBlocks,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value block)> body);

  // Inside of a kernel.

  /// Reads what all steps need. Flat sums of this block are added to `flatSums`, a vector that has
  /// one after the other and each column by column; it is cleared.
  void begin(mlir::OpBuilder &builder, mlir::Value flatSums = nullptr);
  /// Tiles of `value(state, row)`, one for each state.
  using RowOfState =
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, size_t state, mlir::Value row)>;
  llvm::SmallVector<mlir::Value> makeCotangents(mlir::OpBuilder &builder, RowOfState value) const;
  /// Gives the rows of the cotangent of a state to `store(row, value)`, each by the threads that
  /// have it.
  using StoreRow = llvm::function_ref<void(mlir::OpBuilder &, mlir::Value row, mlir::Value value)>;
  void forEachRow(mlir::OpBuilder &builder, mlir::Value cotangent, StoreRow store) const;

  /// Positions [first, last) of a sample.
  struct Run {
    mlir::Value sample, first, last;
  };
  /// Runs them from `cotangents`, a tile of each state; returns those behind them.
  llvm::SmallVector<mlir::Value> run(mlir::OpBuilder &builder, const Run &run,
                                     mlir::ValueRange cotangents);

private:
  LinkLoop(const CotangentLoop &loop, std::unique_ptr<mlir::Region> region, StepTiles steps,
           LinkOptions options, int64_t stages);
  bool hasSums() const { return options.emit && !sums.isEmpty(); }
  void separateAll(mlir::OpBuilder &builder);
  llvm::SmallVector<mlir::Value> getArrays(mlir::ValueRange operands) const;
  void setArguments(llvm::ArrayRef<Place> read, mlir::ValueRange cotangents);
  /// Emits a step that writes what it emits to `outputs`; returns the cotangents and sums behind
  /// it.
  llvm::SmallVector<mlir::Value> emitStep(mlir::OpBuilder &builder, mlir::Value position,
                                          mlir::ValueRange running, llvm::ArrayRef<Place> outputs);

  CotangentLoop loop;
  mlir::Location loc;
  /// Holds the link as this run evaluates it.
  std::unique_ptr<mlir::Region> region;
  StepTiles steps;
  LinkOptions options;
  StepSources sources;
  SumTiles sums;

  // Of the kernel that is emitted.
  mlir::Value numSamples;
  /// Where the sums of the block are in memory.
  mlir::Value memory;
  KernelArrays arrays;
  llvm::SmallVector<mlir::Value> zeroSums;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_LINKLOOP_H
