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
/// The size of a dimension of a memref, folded where it can be.
mlir::Value getDim(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                   int64_t dimension);
/// `value` as digits to the bases `sizes`, the first of which is the slowest.
llvm::SmallVector<mlir::Value> splitIndex(mlir::OpBuilder &builder, mlir::Location loc,
                                          mlir::Value value, mlir::ValueRange sizes);

} // namespace bppsa

#endif // BPPSA_SUPPORT_INDEXARITHMETIC_H
