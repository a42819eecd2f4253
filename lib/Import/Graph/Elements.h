//===- Elements.h - shape ops on known elements -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Small integer tensors whose elements are expressions of sizes never reach the IR. Ops on them are
// evaluated here, element by element.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_GRAPH_ELEMENTS_H
#define BPPSA_LIB_IMPORT_GRAPH_ELEMENTS_H

#include "GraphBuilder.h"

namespace bppsa {

/// Returns the static sizes of a tensor whose elements are known.
llvm::SmallVector<int64_t> getStaticShape(const Tensor &tensor);

/// Returns the product of `shape`, or nullopt if the tensor is too large for its elements to be
/// tracked.
std::optional<int64_t> countTrackedElements(llvm::ArrayRef<int64_t> shape);

/// Calls `visit` for every index of a tensor of shape `shape`, in row-major order.
void forEachIndex(llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

/// Returns the row-major position of `index`. Dimensions of size 1 are broadcast; leading
/// dimensions that `shape` lacks are skipped.
int64_t getPosition(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> shape);

/// Returns the tensor of shape `shape` whose element at an index is the element of `source` at
/// `map(index)`, or nullopt if it is too large.
std::optional<Tensor>
mapElements(GraphBuilder &graph, const Tensor &source, llvm::ArrayRef<int64_t> shape,
            llvm::function_ref<llvm::SmallVector<int64_t>(llvm::ArrayRef<int64_t>)> map);

/// Applies `evaluate` to the elements of the broadcast operands. Returns nullopt if the shapes do
/// not fit or `evaluate` has no result for some element.
std::optional<Tensor>
broadcastElements(GraphBuilder &graph, mlir::Type elementType, llvm::ArrayRef<Tensor> operands,
                  llvm::function_ref<MaybeExpr(llvm::ArrayRef<mlir::AffineExpr>)> evaluate);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_ELEMENTS_H
