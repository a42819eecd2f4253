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

/// The bytes of an array of `type` whose dynamic sizes are one. Elements are numbers.
int64_t getFixedBytes(mlir::MemRefType type);

/// Writes the bytes of an array of `type` with the dynamic `sizes`.
mlir::Value emitByteCount(mlir::OpBuilder &builder, mlir::Location loc, mlir::MemRefType type,
                          mlir::ValueRange sizes);

/// Writes the sizes of what a function allocates as computations on the symbols of the model.
class SizeFormulas {
public:
  /// Formulas of `function`, written by `builder`, which stands where all of `symbols` are known.
  SizeFormulas(mlir::func::FuncOp function, mlir::OpBuilder &builder, mlir::ValueRange symbols);

  /// The bytes of `allocation`. Null where they depend on more than the symbols, and no smaller of
  /// two numbers bounds them.
  mlir::Value emitBytes(mlir::memref::AllocOp allocation);
  /// The size of a dimension of a memref; null where that depends on more.
  mlir::Value emitSize(mlir::Value array, int64_t dim);
  /// Whether `size`, which this has written, may be more than what it stands for.
  bool isBound(mlir::Value size) const { return bounds.contains(size); }
  /// The values of the symbols, from the arguments of the function; null where none has it for its
  /// size. `builder` stands in the function.
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
  /// Those that are no less than what they stand for.
  llvm::DenseSet<mlir::Value> bounds;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_SIZEFORMULAS_H
