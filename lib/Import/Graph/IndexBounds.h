//===- IndexBounds.h - graph inputs whose elements have bounds ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_GRAPH_INDEXBOUNDS_H
#define BPPSA_LIB_IMPORT_GRAPH_INDEXBOUNDS_H

#include "GraphBuilder.h"

namespace bppsa {

/// Says that the elements of `values` have the bound `size`. Where they are exactly the elements of
/// a graph input, in any order and shape, or those of its steps, the argument gets the size in its
/// attribute `name`, so that a program can check the array: in `bppsa.index_bounds` the size of a
/// dimension that they pick from, in `bppsa.length_bounds` the number of steps of which they are
/// lengths. Values that are computed are not followed: only some elements of an input may matter to
/// them.
void recordBound(GraphBuilder &graph, mlir::Value values, llvm::StringRef name,
                 mlir::AffineExpr size);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_INDEXBOUNDS_H
