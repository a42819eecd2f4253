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

/// Returns the bytes of an array of `type` whose dynamic sizes are 1.
int64_t getFixedBytes(mlir::MemRefType type);

mlir::Value emitByteCount(mlir::OpBuilder &builder, mlir::Location loc, mlir::MemRefType type,
                          mlir::ValueRange sizes);

/// Emits the sizes of the memory that a function allocates, as expressions of the symbols of the
/// model.
class SizeFormulas {
public:
  /// Creates formulas for `function` with `builder`, at a point where all of `symbols` are
  /// available.
  SizeFormulas(mlir::func::FuncOp function, mlir::OpBuilder &builder, mlir::ValueRange symbols);

  /// Emits the bytes of `allocation`. Returns null if they depend on more than the symbols and no
  /// minimum bounds them.
  mlir::Value emitBytes(mlir::memref::AllocOp allocation);
  /// Emits the size of a dimension of a memref. Returns null if it depends on more than the
  /// symbols.
  mlir::Value emitSize(mlir::Value array, int64_t dim);
  /// Returns true if `size`, which this object emitted, is only an upper bound.
  bool isBound(mlir::Value size) const { return bounds.contains(size); }
  /// Reads the values of the symbols from the sizes of the arguments of `function`, which contains
  /// the insertion point of `builder`. Symbols that are not the size of an argument are null.
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
  /// Emitted values that are only upper bounds.
  llvm::DenseSet<mlir::Value> bounds;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_SIZEFORMULAS_H
