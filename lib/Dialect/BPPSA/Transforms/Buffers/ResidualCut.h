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

/// Alignment of arrays in a block of residuals, in bytes.
inline constexpr int64_t kResidualAlignment = 64;

/// The forward part of a function and the values that its backward part uses.
struct ResidualCut {
  /// Operations of the function's block that outputs depend on.
  llvm::SmallDenseSet<mlir::Operation *> forward;
  /// Memory that the forward part writes and the backward part reads, in block order.
  llvm::SmallVector<mlir::memref::AllocOp> arrays;
  /// Scalars that the forward part reads from memory and the backward part uses.
  llvm::SetVector<mlir::Value> numbers;
  /// Elements of `arrays` that the forward part may not write completely.
  llvm::SmallDenseSet<mlir::Value> partial;
  /// Memory that the backward part writes.
  llvm::SmallDenseSet<mlir::Value> written;
};

/// Returns the mark of the backward part if `function` has outputs and gradients but no loss; null
/// otherwise.
MarkPhaseOp findBackwardMark(mlir::func::FuncOp function);

/// Finds the cut of `function`, which is bufferized and whose model has `numSymbols` symbols. First
/// gives outputs that the backward part reads separate memory. Fails with a diagnostic.
mlir::FailureOr<ResidualCut> findResiduals(mlir::func::FuncOp function, MarkPhaseOp mark,
                                           unsigned numSymbols);

/// Removes arguments for input gradients from `function`, which is bufferized, and operations that
/// are only needed for them.
llvm::LogicalResult dropInputGradients(mlir::func::FuncOp function);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESIDUALCUT_H
