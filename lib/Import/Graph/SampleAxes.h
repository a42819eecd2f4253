//===- SampleAxes.h - which axes of a graph carry samples -------*- C++ -*-===//
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

/// An input or an output of a graph.
struct BoundaryArray {
  std::string name;
  llvm::SmallVector<Dim> dims;
  /// Of the argument or result of the function.
  unsigned index;
  bool isInput;

  void setAttr(mlir::func::FuncOp function, mlir::NamedAttribute attribute) const;
};

/// For each array the axis that carries samples, or -1.
struct SampleLayout {
  llvm::SmallVector<int64_t> axes;
  /// Results for a sample depend on other samples of its batch, or an output is no list of samples.
  bool mixes = false;
};

/// Every way in which the arrays of a finished graph can be cut into batches along one axis each,
/// so that the graph means the same for each batch. The first is the one that the graph asks for;
/// it may cut nothing.
///
/// Recurrent layers say which axis carries samples. Without them it is the first of an input,
/// unless that has a fixed size and exactly one other has not. An axis that parameters have values
/// of their own for, or that is cut, joined or padded, carries none. Inputs that have no such axis
/// are the same for all samples.
llvm::SmallVector<SampleLayout> findSampleLayouts(const GraphBuilder &graph,
                                                  llvm::ArrayRef<BoundaryArray> arrays);

/// Gives the arguments and results of `function` the attributes that say which axis carries
/// samples: `bppsa.batch_axis` in the layout that `requests` choose, and where there are others
/// `bppsa.batch_axes` in all of them, the chosen one first. The function has
/// `bppsa.mixing_layouts` where results for a sample depend on others. Fails, after an error that
/// names the axes that are accepted, where no layout is what the requests ask for.
llvm::LogicalResult setBatchAxes(mlir::func::FuncOp function, const GraphBuilder &graph,
                                 llvm::ArrayRef<BoundaryArray> arrays,
                                 llvm::ArrayRef<BatchAxisRequest> requests);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_SAMPLEAXES_H
