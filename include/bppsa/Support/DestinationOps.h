//===- DestinationOps.h - ops that write destinations -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Interface implementations for ops that return tensors or, once bufferized, write to memref
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

/// Adds writes for memref destinations, and reads for other memrefs and for destinations that `op`
/// adds to.
void addDestinationEffects(
    mlir::Operation *op,
    llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>> &effects);

/// Returns the type of the array that `op` writes. Fails, after a diagnostic, unless there is
/// either one result or `destination`, which may be null.
llvm::FailureOr<mlir::ShapedType> getWrittenType(mlir::Operation *op, mlir::Value destination);

/// Checks that the only result has the type of `destination` if that is a tensor, and that there is
/// none otherwise.
llvm::LogicalResult verifyTiedResult(mlir::Operation *op, mlir::Type destination);

using DynamicSize = llvm::function_ref<mlir::OpFoldResult(int64_t dim)>;

/// Fails if a dynamic size is unknown.
llvm::LogicalResult reifyShape(mlir::OpResult result, DynamicSize getSize,
                               mlir::ReifiedRankedShapedTypeDims &shapes);

/// Variant for the single result; ops on memrefs have none.
llvm::LogicalResult reifyOnlyShape(mlir::Operation *op, DynamicSize getSize,
                                   mlir::ReifiedRankedShapedTypeDims &shapes);

} // namespace bppsa

#include "bppsa/Support/DestinationOps.h.inc"

#endif // BPPSA_SUPPORT_DESTINATIONOPS_H
