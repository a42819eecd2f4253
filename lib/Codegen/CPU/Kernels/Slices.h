//===- Slices.h - slices of arrays ------------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_KERNELS_SLICES_H
#define BPPSA_LIB_CODEGEN_CPU_KERNELS_SLICES_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace bppsa {

/// Returns the size of `array` along `dim`; for an allocation, its size operand.
mlir::Value getSize(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array, int64_t dim);

mlir::Value emitStepBytes(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                          int64_t dim);

/// Allocates contiguous memory like `array`, with size `count` along `dim`.
mlir::Value allocateLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                         int64_t dim, mlir::Value count);

/// Returns elements [first, first + count) of `array`, a memref, along `dim`.
mlir::memref::SubViewOp emitSlice(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                                  int64_t dim, mlir::OpFoldResult first, mlir::OpFoldResult count);

} // namespace bppsa

#endif
