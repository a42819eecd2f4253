//===- Elements.h - data movement on known elements -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Small integer tensors whose elements are expressions of sizes never reach the
// IR: ops on them are evaluated here, element by element.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_GRAPH_ELEMENTS_H
#define BPPSA_LIB_IMPORT_GRAPH_ELEMENTS_H

#include "GraphBuilder.h"

namespace bppsa {

/// Static sizes of a tensor whose elements are known.
llvm::SmallVector<int64_t> getStaticShape(const Tensor &tensor);

/// The product of `shape`, or nothing if elements of such a tensor are not
/// tracked: it would be too large.
std::optional<int64_t> countTrackedElements(llvm::ArrayRef<int64_t> shape);

/// Calls `visit` for every index of a tensor of shape `shape`, in row-major order.
void forEachIndex(llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

/// The row-major position of `index`; dimensions of size 1 are broadcast and
/// leading dimensions that `shape` lacks are skipped.
int64_t getPosition(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> shape);

/// The tensor of shape `shape` whose element at an index is the element of
/// `source` at the index that `map` gives. Nothing if it is too large.
std::optional<Tensor>
mapElements(GraphBuilder &graph, const Tensor &source, llvm::ArrayRef<int64_t> shape,
            llvm::function_ref<llvm::SmallVector<int64_t>(llvm::ArrayRef<int64_t>)> map);

/// `evaluate` applied to the elements of the broadcast operands. Nothing if the
/// shapes do not fit or `evaluate` has no result for some element.
std::optional<Tensor>
broadcastElements(GraphBuilder &graph, mlir::Type elementType, llvm::ArrayRef<Tensor> operands,
                  llvm::function_ref<MaybeExpr(llvm::ArrayRef<mlir::AffineExpr>)> evaluate);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_ELEMENTS_H
