//===- ResidualCut.h - cut between forward and backward part ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESIDUALCUT_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESIDUALCUT_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SetVector.h"

namespace bppsa {

/// Alignment in bytes.
inline constexpr int64_t kResidualAlignment = 64;

/// Forward part of a function and the values that its backward part uses.
struct ResidualCut {
  /// Operations that outputs depend on.
  llvm::SmallDenseSet<mlir::Operation *> forward;
  /// Memory that the forward part writes and the backward part reads, in block order.
  llvm::SmallVector<mlir::memref::AllocOp> arrays;
  /// Scalars read from memory in the forward part.
  llvm::SetVector<mlir::Value> numbers;
  /// Arrays that the forward part may not write completely.
  llvm::SmallDenseSet<mlir::Value> partial;
  llvm::SmallDenseSet<mlir::Value> written;
};

/// Returns null unless `function` has outputs and gradients but no loss.
MarkPhaseOp findBackwardMark(mlir::func::FuncOp function);

/// Finds the cut of bufferized `function` with `numSymbols` symbols. Outputs read by the backward
/// part get separate memory. Fails with a diagnostic.
mlir::FailureOr<ResidualCut> findResiduals(mlir::func::FuncOp function, MarkPhaseOp mark,
                                           unsigned numSymbols);

/// Removes the arguments for input gradients of a bufferized function, and operations only needed
/// for them.
llvm::LogicalResult dropInputGradients(mlir::func::FuncOp function);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESIDUALCUT_H
