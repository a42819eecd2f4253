//===- Launch.h - launches of blocks of threads -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_GPU_LAUNCH_H
#define BPPSA_LIB_CODEGEN_GPU_LAUNCH_H

#include "bppsa/Dialect/BGPU/Analysis/DeviceArrays.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace bppsa {

/// Threads of a warp, and the most threads of a block.
inline constexpr int64_t kWarpThreads = cost::kWarpThreads, kMaxThreads = cost::kMaxThreads;

/// The mapping of a loop, transition or sum, which `bppsa-choose-gpu-mapping` has given it; null
/// without one.
inline GPUMappingAttr getMapping(mlir::Operation *op) {
  return llvm::dyn_cast_or_null<GPUMappingAttr>(attrs::Mapping::of(op));
}

/// One thread of a launch, inside of it.
struct LaunchedThread {
  /// The number of its block, its number in the block, and the threads of a block.
  mlir::Value block, thread;
  int64_t numThreads;
  /// The arrays of the block that all its threads share.
  mlir::ValueRange shared;
};

/// Launches `numBlocks` blocks of `numThreads` threads, each of which runs `body`.
/// A block has one array for each of `shared`, types without a memory space.
void emitLaunch(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value numBlocks,
                int64_t numThreads, llvm::ArrayRef<mlir::MemRefType> shared,
                llvm::function_ref<void(mlir::OpBuilder &, const LaunchedThread &)> body);

/// Launches at least `count` threads: those with a number below `count` run
/// `body(number)`.
void emitForEachThread(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value count,
                       llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

/// Waits for the threads of the block and makes what they wrote visible.
void emitBarrier(mlir::OpBuilder &builder, mlir::Location loc);

/// Waits for the lanes of the warp and makes what they wrote visible to them.
void emitWarpBarrier(mlir::OpBuilder &builder, mlir::Location loc);

/// `value` of the lane whose number differs in the bit `offset`. All lanes of the warp take part.
mlir::Value emitButterfly(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                          int64_t offset);

/// `then` where `condition` holds.
void emitIf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value condition,
            llvm::function_ref<void(mlir::OpBuilder &)> then);

/// Runs `body(position - first)` where that is below `count`.
void emitIfWithin(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value position, int64_t first,
                  int64_t count, llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

/// Runs `body(iv)` for iv in [lower, upper).
void emitLoop(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lower, mlir::Value upper,
              llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

/// Folds `values` over iv in [lower, upper): `body(iv, values)` gives the next ones.
llvm::SmallVector<mlir::Value>
emitFold(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lower, mlir::Value upper,
         mlir::ValueRange values,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::Value,
                                                           mlir::ValueRange)>
             body);

/// Additions under way at a time: each waits for the last of its partial sum.
inline constexpr int64_t kNumPartials = 4;
/// The sum of partial sums, in a tree.
mlir::Value addPartials(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::SmallVector<mlir::Value> partials);

/// Index arithmetic.
mlir::Value isBelow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b);
mlir::Value isEqual(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b);
/// Each of `indices` plus its stride where `moves` holds, and the same else.
llvm::SmallVector<mlir::Value> moveIndices(mlir::OpBuilder &builder, mlir::Location loc,
                                           mlir::Value moves, mlir::ValueRange indices,
                                           mlir::ValueRange strides);
using cost::roundUpToWarps;

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_GPU_LAUNCH_H
