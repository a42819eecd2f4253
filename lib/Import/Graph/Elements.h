//===- Elements.h - shape ops on known elements -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Evaluates ops on small integer tensors of sizes element by element; these tensors never reach the
// IR.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_GRAPH_ELEMENTS_H
#define BPPSA_LIB_IMPORT_GRAPH_ELEMENTS_H

#include "GraphBuilder.h"

namespace bppsa {

llvm::SmallVector<int64_t> getStaticShape(const Tensor &tensor);

/// Returns the product of `shape`, or nullopt if the tensor is too large to track its elements.
std::optional<int64_t> countTrackedElements(llvm::ArrayRef<int64_t> shape);

void forEachIndex(llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

/// Returns the row-major position of `index`, broadcasting dimensions of size 1 and skipping
/// leading ones.
int64_t getPosition(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> shape);

/// Returns the tensor of shape `shape` with `source[map(index)]` at each index, or nullopt if it is
/// too large.
std::optional<Tensor>
mapElements(GraphBuilder &graph, const Tensor &source, llvm::ArrayRef<int64_t> shape,
            llvm::function_ref<llvm::SmallVector<int64_t>(llvm::ArrayRef<int64_t>)> map);

/// Applies `evaluate` to the elements of the broadcast operands. Returns nullopt if an element has
/// no result.
std::optional<Tensor>
broadcastElements(GraphBuilder &graph, mlir::Type elementType, llvm::ArrayRef<Tensor> operands,
                  llvm::function_ref<MaybeExpr(llvm::ArrayRef<mlir::AffineExpr>)> evaluate);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_ELEMENTS_H
