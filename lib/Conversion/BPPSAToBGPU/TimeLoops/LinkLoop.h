//===- LinkLoop.h - a block runs the links of a sample ----------*- C++ -*-===//
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
/// carries the cotangent of each state and the running sums as tiles. The block shares the vectors
/// that products read and fetches the inputs of each step.
class LinkLoop {
public:
  /// Creates the loop for blocks with `mapping`. Fails with a diagnostic if the link cannot be
  /// emitted.
  static llvm::FailureOr<LinkLoop> create(const CotangentLoop &loop, LinkOptions options,
                                          GPUMappingAttr mapping);

  /// Emits a kernel of `numBlocks` blocks that run `body`, which may run steps. If the link has
  /// sums that are not flat, a second kernel adds up the sums of all blocks.
  void emitKernel(mlir::OpBuilder &builder, mlir::Value numBlocks,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value block)> body);

  // The following functions are called inside of a kernel.

  /// Loads the values that all steps need. Clears `flatSums` and adds the flat sums of this block
  /// to it; the vector contains all sums one after the other in column-major order.
  void begin(mlir::OpBuilder &builder, mlir::Value flatSums = nullptr);
  using RowOfState =
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, size_t state, mlir::Value row)>;
  llvm::SmallVector<mlir::Value> makeCotangents(mlir::OpBuilder &builder, RowOfState value) const;
  /// Calls `store(row, value)` for each row of the cotangent of a state, in the threads that hold
  /// the row.
  using StoreRow = llvm::function_ref<void(mlir::OpBuilder &, mlir::Value row, mlir::Value value)>;
  void forEachRow(mlir::OpBuilder &builder, mlir::Value cotangent, StoreRow store) const;

  /// Positions [first, last) of a sample.
  struct Run {
    mlir::Value sample, first, last;
  };
  llvm::SmallVector<mlir::Value> run(mlir::OpBuilder &builder, const Run &run,
                                     mlir::ValueRange cotangents);

private:
  LinkLoop(const CotangentLoop &loop, std::unique_ptr<mlir::Region> region, StepTiles steps,
           LinkOptions options, int64_t stages);
  bool hasSums() const { return options.emit && !sums.isEmpty(); }
  void separateAll(mlir::OpBuilder &builder);
  llvm::SmallVector<mlir::Value> getArrays(mlir::ValueRange operands) const;
  void setArguments(llvm::ArrayRef<Place> read, mlir::ValueRange cotangents);
  /// Emits a step that writes its emitted values to `outputs`. Returns the next cotangents and
  /// running sums.
  llvm::SmallVector<mlir::Value> emitStep(mlir::OpBuilder &builder, mlir::Value position,
                                          mlir::ValueRange running, llvm::ArrayRef<Place> outputs);

  CotangentLoop loop;
  mlir::Location loc;
  /// Owns the link with the requested options.
  std::unique_ptr<mlir::Region> region;
  StepTiles steps;
  LinkOptions options;
  StepSources sources;
  SumTiles sums;

  // State of the emitted kernel.
  mlir::Value numSamples;
  /// The sums of the block in memory.
  mlir::Value memory;
  KernelArrays arrays;
  llvm::SmallVector<mlir::Value> zeroSums;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_LINKLOOP_H
