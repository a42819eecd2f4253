//===- BackwardLaunches.h - what a backward pass launches -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_STREAMS_BACKWARDLAUNCHES_H
#define BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_STREAMS_BACKWARDLAUNCHES_H

#include "bppsa/Dialect/BPPSA/Analysis/MemoryAccesses.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// What operations of functions of the host, on memory, use of arrays when their launches run.
class LaunchAccesses {
public:
  explicit LaunchAccesses(mlir::ModuleOp module) : symbols(module) {}

  /// Empty for what launches nothing; nothing where the arrays are not known.
  std::optional<llvm::SmallVector<MemoryAccess>> get(mlir::Operation *op);
  /// The kernel that `op` calls and does nothing else; null for other operations.
  mlir::func::FuncOp getKernel(mlir::Operation *op) const;

private:
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Operation *, llvm::BitVector> writes;
};

/// An operation of the backward part of a host function that launches something.
struct BackwardLaunch {
  mlir::Operation *op;
  llvm::SmallVector<MemoryAccess> accesses;
  /// Whether it is a W (ParameterSide), or fills memory for Ws alone.
  bool isParameter = false;
};

/// The `bppsa.mark_phase 1` of `function`, where its backward part begins; null where it has none.
MarkPhaseOp findBackwardStart(mlir::func::FuncOp function);

/// The launches behind `start`, in order. Fails at the operation whose arrays are not known.
mlir::FailureOr<llvm::SmallVector<BackwardLaunch, 0>>
findBackwardLaunches(MarkPhaseOp start, LaunchAccesses &accesses, mlir::Operation *&unknown);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_STREAMS_BACKWARDLAUNCHES_H
