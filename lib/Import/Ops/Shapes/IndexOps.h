//===- IndexOps.h - ops that index elements ---------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_OPS_SHAPES_INDEXOPS_H
#define BPPSA_LIB_IMPORT_OPS_SHAPES_INDEXOPS_H

#include "../../Graph/GraphBuilder.h"

namespace bppsa {

class Node;

mlir::Value getSizeValue(GraphBuilder &graph, const Dim &dim);

Tensor makeReversed(GraphBuilder &graph, const Tensor &data, int64_t axis);

/// Returns the index to read, given the index of the result element and the elements of the inputs.
using LookupMap = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange index, mlir::ValueRange inputs)>;

/// Creates the tensor whose element at an index is the element of `data` at the index returned by
/// `map`.
Tensor makeLookup(GraphBuilder &graph, const Tensor &data, llvm::ArrayRef<Dim> dims,
                  mlir::ValueRange inputs, llvm::ArrayRef<mlir::AffineMap> inputMaps,
                  LookupMap map);

/// Writes blocks of `updates`, `[count, block...]`, into `data` at `indices`, `[count, depth]`.
/// Returns nullopt if there are too many blocks.
std::optional<llvm::FailureOr<Tensor>> scatterFewBlocks(GraphBuilder &graph, const Tensor &data,
                                                        const Tensor &indices,
                                                        const Tensor &updates);

/// Writes `updates` into `data` at the positions `indices` along `axis`. Returns nullopt if there
/// are too many.
std::optional<llvm::FailureOr<Tensor>> scatterFewElements(GraphBuilder &graph, const Tensor &data,
                                                          const Tensor &indices,
                                                          const Tensor &updates, int64_t axis);

llvm::LogicalResult importComputedSlice(Node &node);

/// Clamps `found`, which counts from the end if negative, to a dimension of `size` elements.
mlir::Value makePosition(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value found,
                         mlir::Value size);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_OPS_SHAPES_INDEXOPS_H
