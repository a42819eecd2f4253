//===- Launch.h - launches of thread blocks ---------------------*- C++ -*-===//
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

inline constexpr int64_t kWarpThreads = cost::kWarpThreads, kMaxThreads = cost::kMaxThreads;

/// Returns the mapping that `bppsa-choose-gpu-mapping` assigned to a loop, transition or sum; null
/// if there is none.
inline GPUMappingAttr getMapping(mlir::Operation *op) {
  return llvm::dyn_cast_or_null<GPUMappingAttr>(attrs::Mapping::of(op));
}

struct LaunchedThread {
  mlir::Value block, thread;
  int64_t numThreads;
  mlir::ValueRange shared;
};

/// Launches `numBlocks` blocks of `numThreads` threads, with one shared array per type in `shared`.
void emitLaunch(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value numBlocks,
                int64_t numThreads, llvm::ArrayRef<mlir::MemRefType> shared,
                llvm::function_ref<void(mlir::OpBuilder &, const LaunchedThread &)> body);

/// Runs `body(index)` for each index below `count`.
void emitForEachThread(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value count,
                       llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

void emitBarrier(mlir::OpBuilder &builder, mlir::Location loc);

void emitWarpBarrier(mlir::OpBuilder &builder, mlir::Location loc);

/// Returns `value` of the lane whose index differs in the bit `offset`. All lanes of the warp must
/// participate.
mlir::Value emitButterfly(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                          int64_t offset);

void emitIf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value condition,
            llvm::function_ref<void(mlir::OpBuilder &)> then);

void emitIfWithin(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value position, int64_t first,
                  int64_t count, llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

void emitLoop(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lower, mlir::Value upper,
              llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

/// Folds `values` over iv in [lower, upper).
llvm::SmallVector<mlir::Value>
emitFold(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lower, mlir::Value upper,
         mlir::ValueRange values,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::Value,
                                                           mlir::ValueRange)>
             body);

/// Independent partial sums, to hide the latency of additions.
inline constexpr int64_t kNumPartials = 4;
mlir::Value addPartials(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::SmallVector<mlir::Value> partials);

mlir::Value isBelow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b);
mlir::Value isEqual(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b);
/// Returns each of `indices`, plus its stride if `moves` holds.
llvm::SmallVector<mlir::Value> moveIndices(mlir::OpBuilder &builder, mlir::Location loc,
                                           mlir::Value moves, mlir::ValueRange indices,
                                           mlir::ValueRange strides);
using cost::roundUpToWarps;

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_GPU_LAUNCH_H
