//===- ResidualCut.h - what a backward part reads ---------------*- C++ -*-===//
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

/// Where arrays begin in a block of residuals.
inline constexpr int64_t kResidualAlignment = 64;

/// What the parts of a function are, and what goes from one to the other.
struct ResidualCut {
  /// The operations of the function's block that are for its outputs.
  llvm::SmallDenseSet<mlir::Operation *> forward;
  /// Memory that the forward part writes and the backward part reads, in order.
  llvm::SmallVector<mlir::memref::AllocOp> arrays;
  /// Numbers that the forward part reads from memory and the backward part uses.
  llvm::SetVector<mlir::Value> numbers;
  /// Of the arrays, those that the forward part may leave partly unwritten.
  llvm::SmallDenseSet<mlir::Value> partial;
  /// Memory that the backward part writes.
  llvm::SmallDenseSet<mlir::Value> written;
};

/// The mark of the backward part, where `function` has outputs and gradients and no loss; else
/// null.
MarkPhaseOp findBackwardMark(mlir::func::FuncOp function);

/// Finds where to cut `function`, which is on memory; its model has `numSymbols` symbols. Outputs
/// that the backward part reads get memory of their own before. Fails after an error.
mlir::FailureOr<ResidualCut> findResiduals(mlir::func::FuncOp function, MarkPhaseOp mark,
                                           unsigned numSymbols);

/// Drops the arguments of `function`, which is on memory, for gradients of inputs, and what is
/// computed for nothing else.
llvm::LogicalResult dropInputGradients(mlir::func::FuncOp function);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESIDUALCUT_H
