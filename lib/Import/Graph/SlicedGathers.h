//===- SlicedGathers.h - steps that pick slices of arrays -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_GRAPH_SLICEDGATHERS_H
#define BPPSA_LIB_IMPORT_GRAPH_SLICEDGATHERS_H

#include "../Loops/LoopImporter.h"

namespace bppsa {

/// Whether a node of `graph`, also in graphs inside of nodes, or an output of it is `name`.
bool readsValue(const onnx::GraphProto &graph, llvm::StringRef name);

/// Finds the nodes in the body of a Loop that pick, at an index computed from the iteration number,
/// a slice of an array or an element of a list from outside. In `body` each becomes a copy of one
/// step of a sequence; returns these. Reads of `lists` at the iteration number become reads at
/// positions that count from the end.
mlir::FailureOr<llvm::SmallVector<LoopSequence>>
sliceGathers(Node &node, onnx::GraphProto &body, mlir::AffineExpr steps, LoopLists &lists);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_SLICEDGATHERS_H
