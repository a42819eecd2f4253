//===- SlicedGathers.h - loop gathers as sequences --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_GRAPH_SLICEDGATHERS_H
#define BPPSA_LIB_IMPORT_GRAPH_SLICEDGATHERS_H

#include "../Loops/LoopImporter.h"

namespace bppsa {

/// Returns whether `name` is an input of a node of `graph` or its subgraphs, or an output of
/// `graph`.
bool readsValue(const onnx::GraphProto &graph, llvm::StringRef name);

/// Finds the nodes in the body of a Loop that read a slice of an outer array, or an element of an
/// outer list, at an index computed from the iteration number. Replaces each node in `body` by a
/// copy of one step of a sequence and returns these sequences. Reads of `lists` at the iteration
/// number are rewritten to indices that count from the end.
mlir::FailureOr<llvm::SmallVector<LoopSequence>>
sliceGathers(Node &node, onnx::GraphProto &body, mlir::AffineExpr steps, LoopLists &lists);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_SLICEDGATHERS_H
