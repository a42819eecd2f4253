//===- IndexArithmetic.h - sizes and sums of indices ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_INDEXARITHMETIC_H
#define BPPSA_SUPPORT_INDEXARITHMETIC_H

#include "mlir/IR/Builders.h"

namespace bppsa {

/// An index constant.
mlir::Value getIndex(mlir::OpBuilder &builder, mlir::Location loc, int64_t value);
/// `value + offset`, folded where it can be.
mlir::Value addIndex(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                     int64_t offset);
/// Sums, products and unsigned minima of indices, folded where they can be.
mlir::Value addIndex(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b);
mlir::Value mulIndex(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b);
mlir::Value minIndex(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b);
/// The size of a dimension of a memref, folded where it can be.
mlir::Value getDim(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                   int64_t dimension);
/// `value` as digits to the bases `sizes`, the first of which is the slowest.
llvm::SmallVector<mlir::Value> splitIndex(mlir::OpBuilder &builder, mlir::Location loc,
                                          mlir::Value value, mlir::ValueRange sizes);

/// `count` elements of the memory of `array` from element `offset` on, as an array of one
/// dimension.
mlir::Value viewElements(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                         mlir::OpFoldResult offset, mlir::Value count);

/// Array `slot` of `arrays`, whose first dimension counts arrays of one static shape.
mlir::Value viewSlot(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value arrays,
                     mlir::Value slot);

/// The elements of an array without gaps behind the first `skipped`, as an array of one dimension.
mlir::Value flatten(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                    mlir::OpFoldResult skipped);

} // namespace bppsa

#endif // BPPSA_SUPPORT_INDEXARITHMETIC_H
