//===- BackwardLaunches.h - launches of a backward pass ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_STREAMS_BACKWARDLAUNCHES_H
#define BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_STREAMS_BACKWARDLAUNCHES_H

#include "bppsa/Dialect/BPPSA/Analysis/MemoryAccesses.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

class LaunchAccesses {
public:
  explicit LaunchAccesses(mlir::ModuleOp module) : symbols(module) {}

  /// Returns no accesses if `op` launches nothing, and nullopt if the arrays are unknown.
  std::optional<llvm::SmallVector<MemoryAccess>> get(mlir::Operation *op);
  /// Returns the kernel if `op` only calls a kernel; null otherwise.
  mlir::func::FuncOp getKernel(mlir::Operation *op) const;

private:
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Operation *, llvm::BitVector> writes;
};

struct BackwardLaunch {
  mlir::Operation *op;
  llvm::SmallVector<MemoryAccess> accesses;
  /// True for a parameter-gradient launch (see ParameterGradientAnalysis), or one that only
  /// initializes memory for such launches.
  bool isParameter = false;
};

/// Returns the `bppsa.mark_phase 1` at which the backward pass begins, or null.
MarkPhaseOp findBackwardStart(mlir::func::FuncOp function);

/// Returns the launches after `start`. Fails at the first operation with unknown arrays and stores
/// it in `unknown`.
mlir::FailureOr<llvm::SmallVector<BackwardLaunch, 0>>
findBackwardLaunches(MarkPhaseOp start, LaunchAccesses &accesses, mlir::Operation *&unknown);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_STREAMS_BACKWARDLAUNCHES_H
