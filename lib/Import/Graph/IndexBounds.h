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
/// a graph input, in any order and shape, or those of its steps, the argument gets the size in
/// `bppsa.index_bounds`, so that a program can check the array: it is that of a dimension that the
/// elements pick from. Values that are computed are not followed: only some elements of an input
/// may matter to them.
void recordIndexBound(GraphBuilder &graph, mlir::Value values, mlir::AffineExpr size);

/// The same for `bppsa.length_bounds`: `size` is a number of steps of which the elements are
/// lengths.
void recordLengthBound(GraphBuilder &graph, mlir::Value values, mlir::AffineExpr size);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_INDEXBOUNDS_H
