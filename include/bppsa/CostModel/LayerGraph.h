//===- LayerGraph.h - readable descriptions of links ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Names and per-sample shapes of the operations whose transposed Jacobians are the links of a
// chain.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_LAYERGRAPH_H
#define BPPSA_COSTMODEL_LAYERGRAPH_H

#include "bppsa/Dialect/Jacobian/Analysis/LayerChains.h"
#include <string>
#include <vector>

namespace bppsa {

using Shape = std::vector<int64_t>;

struct LayerDescription {
  std::string operation;
  std::string name;
  Shape operand, result;
};

/// The layers of a chain in forward order; the first layer is the last link.
struct LayerGraph {
  std::vector<LayerDescription> layers;
  /// Reasons why the chain ends at its first and last layer.
  std::string begins, ends;
};

/// Operands and results of one step of a chain over time.
struct StepDescription {
  std::string operation, name;
  std::vector<Shape> states, saved, captures, emitted;
  struct Injected {
    Shape shape;
    int64_t state;
  };
  std::vector<Injected> injected;
  /// Operations of the region by name with their counts, in order of first appearance.
  std::vector<std::pair<std::string, int64_t>> operations;
};

/// Returns the name of the ONNX node from which `op` was imported, or else the name of `op`.
std::string getLayerName(mlir::Operation *op);

LayerGraph describeLayers(const LayerChain &chain);

StepDescription describeStep(ChainOp loop);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_LAYERGRAPH_H
