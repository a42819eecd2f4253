//===- IndexOps.h - ops that pick elements by index -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_OPS_SHAPES_INDEXOPS_H
#define BPPSA_LIB_IMPORT_OPS_SHAPES_INDEXOPS_H

#include "../../Graph/GraphBuilder.h"

namespace bppsa {

class Node;

/// The size of `dim` as an index.
mlir::Value getSizeValue(GraphBuilder &graph, const Dim &dim);

/// `data` with the order of dimension `axis` turned round.
Tensor makeReversed(GraphBuilder &graph, const Tensor &data, int64_t axis);

/// The indices into a tensor that an element of a lookup comes from, made of its own index and of
/// the elements of the inputs.
using LookupMap = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange index, mlir::ValueRange inputs)>;

/// The tensor of shape `dims` whose element at an index is the element of `data` at the index that
/// `map` makes from it.
Tensor makeLookup(GraphBuilder &graph, const Tensor &data, llvm::ArrayRef<Dim> dims,
                  mlir::ValueRange inputs, llvm::ArrayRef<mlir::AffineMap> inputMaps,
                  LookupMap map);

/// `data` with a few blocks of `updates`, `[count, block...]`, at `indices`, `[count, depth]`;
/// nothing for many blocks.
std::optional<llvm::FailureOr<Tensor>> scatterFewBlocks(GraphBuilder &graph, const Tensor &data,
                                                        const Tensor &indices,
                                                        const Tensor &updates);

/// `data` with `updates` at the positions along `axis` that `indices` of the same shape say;
/// nothing if there are many along `axis`. Other axes are those of `data`.
std::optional<llvm::FailureOr<Tensor>> scatterFewElements(GraphBuilder &graph, const Tensor &data,
                                                          const Tensor &indices,
                                                          const Tensor &updates, int64_t axis);

/// Slice with bounds that are data and differ by a constant.
llvm::LogicalResult importComputedSlice(Node &node);

/// A position in a dimension of `size` elements: `found`, an integer that counts from the end where
/// it is negative, or the nearest position.
mlir::Value makePosition(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value found,
                         mlir::Value size);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_OPS_SHAPES_INDEXOPS_H
