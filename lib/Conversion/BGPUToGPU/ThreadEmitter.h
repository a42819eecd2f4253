//===- ThreadEmitter.h - the work of one thread -----------------*- C++ -*-===//
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

/// The tile that `op` works on; null where it is the same for all threads.
mlir::RankedTensorType getTile(mlir::Operation *op);

/// The type of what a thread has of a value.
mlir::Type getThreadType(mlir::Type type);

/// Whether an array is in shared memory.
bool isShared(mlir::memref::AllocOp op);

/// Lets loads in `kernel` index whole arrays, not slots of them.
void resolveSlots(bgpu::KernelOp kernel);

/// The work of one thread of a kernel.
class ThreadEmitter {
public:
  ThreadEmitter(bgpu::KernelOp kernel, mlir::Value block, mlir::Value thread)
      : numThreads(kernel.getThreads()), repeatsLast(kernel.getRepeatLast()), thread(thread) {
    values.map(kernel.getBody().getArgument(0), block);
  }

  void map(mlir::Value array, mlir::Value argument) { values.map(array, argument); }
  void emitBlock(mlir::OpBuilder &builder, mlir::Block &block);

private:
  /// Operations of a block that follow each other and have as many elements.
  using Run = llvm::SmallVector<mlir::Operation *>;

  void emitRun(mlir::OpBuilder &builder, Run &run);
  void emitPart(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Operation *> run,
                mlir::Value exists);
  /// Threads beyond the last row have it again.
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
  /// The numbers of a thread that loops and branches hand on for values of a kernel, and the way
  /// back from these to values.
  llvm::SmallVector<mlir::Value> getNumbers(mlir::OpBuilder &builder, mlir::Location loc,
                                            mlir::ValueRange ofBlock) const;
  void mapNumbers(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange ofBlock,
                  mlir::ValueRange numbers);
  /// The operations of a body with `arguments`; `values` has what it yields then.
  void inlineBody(mlir::OpBuilder &builder, mlir::Block &body, mlir::ValueRange arguments);
  /// The indices in a tile of the element that the thread has, behind `first` rows.
  llvm::SmallVector<mlir::Value> getIndices(mlir::OpBuilder &builder, mlir::Location loc,
                                            mlir::RankedTensorType tile, int64_t first = 0);

  /// The array of `buffer`, and where in it rows `first`, `first` + 1, ... have the element of a
  /// tile that the thread has.
  std::pair<mlir::Value, llvm::SmallVector<mlir::Value>>
  locate(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer,
         mlir::RankedTensorType tile, int64_t first);

  int64_t numThreads;
  bool repeatsLast;
  mlir::Value thread;
  /// Whether threads beyond the last row of a tile have elements of that at what is emitted.
  bool isRepeating = false;
  mlir::IRMapping values;
  /// What products have rounded, by precision and the numbers that a register has.
  llvm::DenseMap<std::tuple<unsigned, mlir::Value, mlir::Value>, RoundedFragment> rounded;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BGPUTOGPU_THREADEMITTER_H
