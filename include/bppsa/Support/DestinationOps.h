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

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace bppsa {

/// Adds the effects of `op`, a `DestinationOpInterface`: a write for each memref that is a
/// destination, and a read for each other memref and for destinations that `op` adds to.
void addDestinationEffects(
    mlir::Operation *op,
    llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>> &effects);

/// Returns the type of the array that `op` writes. Fails, after a diagnostic, unless it has either
/// one result or `destination`, which may be null.
llvm::FailureOr<mlir::ShapedType> getWrittenType(mlir::Operation *op, mlir::Value destination);

/// Checks that the only result of `op` has the type of `destination` if that is a tensor, and that
/// there is no result otherwise.
llvm::LogicalResult verifyTiedResult(mlir::Operation *op, mlir::Type destination);

/// Returns the size of a dynamic dimension of a result; null if unknown.
using DynamicSize = llvm::function_ref<mlir::OpFoldResult(int64_t dim)>;

/// Adds the sizes of `result` to `shapes`. Fails if a dynamic size is unknown.
llvm::LogicalResult reifyShape(mlir::OpResult result, DynamicSize getSize,
                               mlir::ReifiedRankedShapedTypeDims &shapes);

/// Does the same for the single result of `op`; ops on memrefs have no result.
llvm::LogicalResult reifyOnlyShape(mlir::Operation *op, DynamicSize getSize,
                                   mlir::ReifiedRankedShapedTypeDims &shapes);

} // namespace bppsa

#include "bppsa/Support/DestinationOps.h.inc"

#endif // BPPSA_SUPPORT_DESTINATIONOPS_H
