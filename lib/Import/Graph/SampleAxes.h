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
  /// Number of the argument or result of the function.
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

/// Returns all layouts in which the arrays of a finished graph can be cut into batches, along one
/// axis each, so that each batch computes the same function. The first layout is the one that the
/// graph suggests; it may cut nothing.
///
/// Recurrent layers determine the batch axis. Without them, it is the first axis of an input,
/// unless this axis has a fixed size and exactly one other axis does not. An axis along which
/// parameters have different values, or which is cut, concatenated or padded, is not a batch axis.
/// Inputs without a batch axis are shared by all samples.
llvm::SmallVector<SampleLayout> findSampleLayouts(const GraphBuilder &graph,
                                                  llvm::ArrayRef<BoundaryArray> arrays);

/// Sets the batch axis attributes of the arguments and results of `function`. `bppsa.batch_axis`
/// holds the axis in the layout chosen by `requests`. If there are other layouts,
/// `bppsa.batch_axes` holds the axes in all layouts, the chosen one first. `bppsa.mixing_layouts`
/// on the function marks layouts in which results for a sample depend on other samples. Emits an
/// error that names the accepted axes if no layout satisfies the requests.
llvm::LogicalResult setBatchAxes(mlir::func::FuncOp function, const GraphBuilder &graph,
                                 llvm::ArrayRef<BoundaryArray> arrays,
                                 llvm::ArrayRef<BatchAxisRequest> requests);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_SAMPLEAXES_H
