//===- SizeFormulas.h - sizes of memory as functions of symbols -*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_SIZEFORMULAS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_SIZEFORMULAS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace bppsa {

/// Counts dynamic sizes as 1.
int64_t getFixedBytes(mlir::MemRefType type);

mlir::Value emitByteCount(mlir::OpBuilder &builder, mlir::Location loc, mlir::MemRefType type,
                          mlir::ValueRange sizes);

/// Emits the sizes of allocations as expressions of the symbols.
class SizeFormulas {
public:
  /// All of `symbols` must be available at `builder`.
  SizeFormulas(mlir::func::FuncOp function, mlir::OpBuilder &builder, mlir::ValueRange symbols);

  /// Returns null if the bytes depend on more than symbols and no minimum bounds them.
  mlir::Value emitBytes(mlir::memref::AllocOp allocation);
  /// Returns null if the size depends on more than the symbols.
  mlir::Value emitSize(mlir::Value array, int64_t dim);
  /// True if the emitted `size` is only an upper bound.
  bool isBound(mlir::Value size) const { return bounds.contains(size); }
  /// Reads symbols from argument sizes of `function`; null for symbols that are no argument size.
  static llvm::SmallVector<mlir::Value> readSymbols(mlir::func::FuncOp function,
                                                    mlir::OpBuilder &builder, unsigned count);

private:
  mlir::Value emit(mlir::Value value);
  mlir::Value emit(mlir::OpFoldResult value);
  mlir::Value emitOperation(mlir::Operation *op);
  mlir::Value emitBound(mlir::Operation *op);
  mlir::Value emitArgumentSize(mlir::BlockArgument argument, int64_t dim);
  mlir::Value emitSubviewSize(mlir::memref::SubViewOp subview, int64_t dim);
  mlir::Value emitProduct(llvm::ArrayRef<mlir::Value> factors);

  mlir::func::FuncOp function;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::SmallVector<mlir::Value> symbols;
  llvm::DenseMap<mlir::Value, mlir::Value> emitted;
  llvm::DenseSet<mlir::Value> bounds;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_SIZEFORMULAS_H
