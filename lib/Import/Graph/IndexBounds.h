//===- IndexBounds.h - bounds of elements of graph inputs -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_GRAPH_INDEXBOUNDS_H
#define BPPSA_LIB_IMPORT_GRAPH_INDEXBOUNDS_H

#include "GraphBuilder.h"

namespace bppsa {

/// Records that the elements of `values` index a dimension of size `size`: if they are exactly the
/// elements of a graph input, the argument gets `bppsa.index_bounds` so that programs can check it.
/// Computed values are not followed because only some elements may be used.
void recordIndexBound(GraphBuilder &graph, mlir::Value values, mlir::AffineExpr size);

/// Records that the elements of `values` are lengths of at most `size` steps, in
/// `bppsa.length_bounds`.
void recordLengthBound(GraphBuilder &graph, mlir::Value values, mlir::AffineExpr size);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_INDEXBOUNDS_H
