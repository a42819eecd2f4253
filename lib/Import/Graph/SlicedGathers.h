//===- SlicedGathers.h - loop gathers as sequences --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_GRAPH_SLICEDGATHERS_H
#define BPPSA_LIB_IMPORT_GRAPH_SLICEDGATHERS_H

#include "../Loops/LoopImporter.h"

namespace bppsa {

bool readsValue(const onnx::GraphProto &graph, llvm::StringRef name);

/// Finds reads of an outer array or list in the body of a Loop at an index computed from the
/// iteration number. Replaces them in `body` by one step of a sequence and returns the sequences.
mlir::FailureOr<llvm::SmallVector<LoopSequence>>
sliceGathers(Node &node, onnx::GraphProto &body, mlir::AffineExpr steps, LoopLists &lists);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_SLICEDGATHERS_H
