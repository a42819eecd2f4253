//===- DestinationOps.h - ops that write destinations -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Shared interface implementations for ops that return tensors or, once bufferized, write to memref
// operands.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_DESTINATIONOPS_H
#define BPPSA_SUPPORT_DESTINATIONOPS_H

#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace bppsa {

/// Adds a write for each memref in `destinations` and a read for each other memref operand.
void addDestinationEffects(
    mlir::Operation *op, mlir::MutableOperandRange destinations,
    llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>> &effects);

/// Returns the size of a dynamic dimension of a result; null if unknown.
using DynamicSize = llvm::function_ref<mlir::OpFoldResult(int64_t dim)>;

/// Adds the sizes of `result` to `shapes`. Fails if a dynamic size is unknown.
llvm::LogicalResult reifyShape(mlir::OpResult result, DynamicSize getSize,
                               mlir::ReifiedRankedShapedTypeDims &shapes);

/// Does the same for the single result of `op`; ops on memrefs have no result.
llvm::LogicalResult reifyOnlyShape(mlir::Operation *op, DynamicSize getSize,
                                   mlir::ReifiedRankedShapedTypeDims &shapes);

} // namespace bppsa

#endif // BPPSA_SUPPORT_DESTINATIONOPS_H
