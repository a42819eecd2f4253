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

/// Applies the link to the cotangent of one sample, step by step. The loop carries cotangents and
/// running sums as tiles; the block shares vectors that products read.
class LinkLoop {
public:
  /// Fails with a diagnostic if the link cannot be emitted.
  static llvm::FailureOr<LinkLoop> create(const CotangentLoop &loop, LinkOptions options,
                                          GPUMappingAttr mapping);

  /// Emits `numBlocks` blocks that run `body`. For sums that are not flat, a second kernel adds up
  /// the blocks.
  void emitKernel(mlir::OpBuilder &builder, mlir::Value numBlocks,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value block)> body);

  // The following functions emit code in a kernel.

  /// Loads invariant values. Clears `flatSums` and adds the flat sums of the block to it, in
  /// column-major order.
  void begin(mlir::OpBuilder &builder, mlir::Value flatSums = nullptr);
  using RowOfState =
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, size_t state, mlir::Value row)>;
  llvm::SmallVector<mlir::Value> makeCotangents(mlir::OpBuilder &builder, RowOfState value) const;
  /// Called for each row of a cotangent in the threads that hold it.
  using StoreRow = llvm::function_ref<void(mlir::OpBuilder &, mlir::Value row, mlir::Value value)>;
  void forEachRow(mlir::OpBuilder &builder, mlir::Value cotangent, StoreRow store) const;

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
  /// Writes emitted values to `outputs`. Returns the next cotangents and running sums.
  llvm::SmallVector<mlir::Value> emitStep(mlir::OpBuilder &builder, mlir::Value position,
                                          mlir::ValueRange running, llvm::ArrayRef<Place> outputs);

  CotangentLoop loop;
  mlir::Location loc;
  std::unique_ptr<mlir::Region> region;
  StepTiles steps;
  LinkOptions options;
  StepSources sources;
  SumTiles sums;

  mlir::Value numSamples;
  mlir::Value memory;
  KernelArrays arrays;
  llvm::SmallVector<mlir::Value> zeroSums;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_LINKLOOP_H
