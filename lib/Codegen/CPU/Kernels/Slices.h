//===- Slices.h - parts of arrays -------------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_KERNELS_SLICES_H
#define BPPSA_LIB_CODEGEN_CPU_KERNELS_SLICES_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace bppsa {

/// The size of `array` along `dim`; of memory that is allocated here, what it is allocated with.
mlir::Value getSize(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array, int64_t dim);

/// What `array` takes of one step, in bytes, where `dim` counts steps.
mlir::Value emitStepBytes(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                          int64_t dim);

/// Memory without gaps like that of `array`, of `count` along `dim`.
mlir::Value allocateLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                         int64_t dim, mlir::Value count);

/// Elements [first, first + count) of `array`, a memref, along `dim`.
mlir::memref::SubViewOp emitSlice(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                                  int64_t dim, mlir::OpFoldResult first, mlir::OpFoldResult count);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_KERNELS_SLICES_H
