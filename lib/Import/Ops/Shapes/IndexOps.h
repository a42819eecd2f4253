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

/// Returns the index that a lookup reads in its source, given the index of the result element and
/// the elements of the inputs.
using LookupMap = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange index, mlir::ValueRange inputs)>;

/// Creates the tensor of shape `dims` whose element at an index is the element of `data` at the
/// index returned by `map`.
Tensor makeLookup(GraphBuilder &graph, const Tensor &data, llvm::ArrayRef<Dim> dims,
                  mlir::ValueRange inputs, llvm::ArrayRef<mlir::AffineMap> inputMaps,
                  LookupMap map);

/// Writes blocks of `updates`, `[count, block...]`, into `data` at `indices`, `[count, depth]`.
/// Returns nullopt if there are too many blocks.
std::optional<llvm::FailureOr<Tensor>> scatterFewBlocks(GraphBuilder &graph, const Tensor &data,
                                                        const Tensor &indices,
                                                        const Tensor &updates);

/// Writes `updates` into `data` at the positions `indices`, of the same shape, along `axis`. The
/// other axes match the axes of `data`. Returns nullopt if there are too many elements along
/// `axis`.
std::optional<llvm::FailureOr<Tensor>> scatterFewElements(GraphBuilder &graph, const Tensor &data,
                                                          const Tensor &indices,
                                                          const Tensor &updates, int64_t axis);

/// Imports a Slice whose bounds are data and differ by a constant.
llvm::LogicalResult importComputedSlice(Node &node);

/// Returns a valid position in a dimension of `size` elements: `found`, which counts from the end
/// if negative, clamped to the dimension.
mlir::Value makePosition(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value found,
                         mlir::Value size);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_OPS_SHAPES_INDEXOPS_H
