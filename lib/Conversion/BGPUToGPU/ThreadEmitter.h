//===- ThreadEmitter.h - distribution of a kernel over threads --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BGPUTOGPU_THREADEMITTER_H
#define BPPSA_LIB_CONVERSION_BGPUTOGPU_THREADEMITTER_H

#include "MultiplyTiles.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace bppsa {

/// Returns null if `op` is uniform over threads.
mlir::RankedTensorType getTile(mlir::Operation *op);

mlir::Type getThreadType(mlir::Type type);

bool isShared(mlir::memref::AllocOp op);

void resolveSlots(bgpu::KernelOp kernel);

class ThreadEmitter {
public:
  ThreadEmitter(bgpu::KernelOp kernel, mlir::Value block, mlir::Value thread)
      : numThreads(kernel.getThreads()), repeatsLast(kernel.getRepeatLast()), thread(thread) {
    values.map(kernel.getBody().getArgument(0), block);
  }

  void map(mlir::Value array, mlir::Value argument) { values.map(array, argument); }
  void emitBlock(mlir::OpBuilder &builder, mlir::Block &block);

private:
  /// Operations on tiles with the same number of elements.
  using Run = llvm::SmallVector<mlir::Operation *>;

  void emitRun(mlir::OpBuilder &builder, Run &run);
  void emitPart(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Operation *> run,
                mlir::Value exists);
  /// Surplus threads may repeat the last row.
  void emitForAll(mlir::OpBuilder &builder, mlir::Operation *op);
  bool repeatsIn(mlir::Operation *op) const;
  bool needsBranch(mlir::Operation *op) const;
  bool isInLastWarp(mlir::RankedTensorType tile) const;
  mlir::Value findOwners(mlir::OpBuilder &builder, mlir::Operation *op);
  bool hasSpareRows(mlir::Operation *op) const;
  void emitTileOp(mlir::OpBuilder &builder, mlir::Operation *op);
  void emitElementwise(mlir::OpBuilder &builder, mlir::Operation *op);
  void emitReduceAcross(mlir::OpBuilder &builder, bgpu::ReduceAcrossOp op);
  void emitReduceScatter(mlir::OpBuilder &builder, bgpu::ReduceScatterOp op);
  void emitGridBarrier(mlir::OpBuilder &builder, bgpu::GridBarrierOp op);
  void emitProduct(mlir::OpBuilder &builder, bgpu::MmaOp op);
  RoundedFragment round(mlir::OpBuilder &builder, const TileMultiplication &tiles,
                        mlir::ValueRange numbers);
  void emitAccumulate(mlir::OpBuilder &builder, bgpu::AccumulateOp op);
  void emitLoop(mlir::OpBuilder &builder, mlir::scf::ForOp loop);
  void emitBranches(mlir::OpBuilder &builder, mlir::scf::IfOp branch);
  /// Convert between kernel values and the scalars that loops and branches carry.
  llvm::SmallVector<mlir::Value> getNumbers(mlir::OpBuilder &builder, mlir::Location loc,
                                            mlir::ValueRange ofBlock) const;
  void mapNumbers(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange ofBlock,
                  mlir::ValueRange numbers);
  void inlineBody(mlir::OpBuilder &builder, mlir::Block &body, mlir::ValueRange arguments);
  llvm::SmallVector<mlir::Value> getIndices(mlir::OpBuilder &builder, mlir::Location loc,
                                            mlir::RankedTensorType tile, int64_t first = 0);

  /// Returns the array and element indices for a tile that begins at row `first`.
  std::pair<mlir::Value, llvm::SmallVector<mlir::Value>>
  locate(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer,
         mlir::RankedTensorType tile, int64_t first);

  int64_t numThreads;
  bool repeatsLast;
  mlir::Value thread;
  /// True while surplus threads repeat the last row.
  bool isRepeating = false;
  mlir::IRMapping values;
  llvm::DenseMap<std::tuple<unsigned, mlir::Value, mlir::Value>, RoundedFragment> rounded;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BGPUTOGPU_THREADEMITTER_H
