//===- IndexArithmetic.h - arithmetic on indices and views ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_INDEXARITHMETIC_H
#define BPPSA_SUPPORT_INDEXARITHMETIC_H

#include "mlir/IR/Builders.h"

namespace bppsa {

mlir::Value getIndex(mlir::OpBuilder &builder, mlir::Location loc, int64_t value);
/// Create sums, products and unsigned minima, folded if possible.
mlir::Value addIndex(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                     int64_t offset);
mlir::Value addIndex(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b);
mlir::Value mulIndex(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b);
mlir::Value minIndex(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b);
mlir::Value getDim(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                   int64_t dimension);
/// Delinearizes `value` with the bases `sizes`, slowest first.
llvm::SmallVector<mlir::Value> splitIndex(mlir::OpBuilder &builder, mlir::Location loc,
                                          mlir::Value value, mlir::ValueRange sizes);

/// Returns a one-dimensional view of `count` elements from `offset`.
mlir::Value viewElements(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                         mlir::OpFoldResult offset, mlir::Value count);

/// Returns a view of `arrays[slot]`. Only the first dimension may be dynamic.
mlir::Value viewSlot(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value arrays,
                     mlir::Value slot);

/// Returns a one-dimensional view after the first `skipped` elements.
mlir::Value flatten(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                    mlir::OpFoldResult skipped);

} // namespace bppsa

#endif // BPPSA_SUPPORT_INDEXARITHMETIC_H
