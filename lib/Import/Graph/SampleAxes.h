//===- SampleAxes.h - find the batch axes of a graph ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_GRAPH_SAMPLEAXES_H
#define BPPSA_LIB_IMPORT_GRAPH_SAMPLEAXES_H

#include "GraphBuilder.h"
#include "bppsa/Support/BatchAxes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

struct BoundaryArray {
  std::string name;
  llvm::SmallVector<Dim> dims;
  unsigned index;
  bool isInput;

  void setAttr(mlir::func::FuncOp function, mlir::NamedAttribute attribute) const;
};

/// For each array, the axis that carries samples, or -1.
struct SampleLayout {
  llvm::SmallVector<int64_t> axes;
  /// Results for a sample depend on other samples of its batch, or an output has no batch axis.
  bool mixes = false;
};

/// Returns all layouts in which batches, cut along one axis of each array, compute the same
/// function. The first is the one that the graph suggests; it may cut nothing. Recurrent layers
/// determine the batch axis; otherwise it is the first axis of an input, unless only another axis
/// is symbolic. Arrays without a batch axis are shared by all samples.
llvm::SmallVector<SampleLayout> findSampleLayouts(const GraphBuilder &graph,
                                                  llvm::ArrayRef<BoundaryArray> arrays);

/// Sets `bppsa.batch_axis` of arguments and results to the layout chosen by `requests`. If there
/// are others, `bppsa.batch_axes` holds all, the chosen one first, and `bppsa.mixing_layouts` marks
/// those in which samples depend on each other. Emits an error if no layout satisfies the requests.
llvm::LogicalResult setBatchAxes(mlir::func::FuncOp function, const GraphBuilder &graph,
                                 llvm::ArrayRef<BoundaryArray> arrays,
                                 llvm::ArrayRef<BatchAxisRequest> requests);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_SAMPLEAXES_H
