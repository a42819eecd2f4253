//===- LayerGraph.h - what the links of a chain are in IR -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Names and shapes of the operations whose transposed Jacobians are the links of a
// chain, for people who read an evaluation. Shapes are those of one sample.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_LAYERGRAPH_H
#define BPPSA_COSTMODEL_LAYERGRAPH_H

#include "bppsa/Dialect/Jacobian/Analysis/LayerChains.h"
#include <string>
#include <vector>

namespace bppsa {

using Shape = std::vector<int64_t>;

/// An operation of a graph.
struct LayerDescription {
  std::string operation;
  /// That of the model's node, or of the operation where no node is known.
  std::string name;
  Shape operand, result;
};

/// The layers of a chain, in the order of the forward pass; the first one is the last
/// link.
struct LayerGraph {
  std::vector<LayerDescription> layers;
  /// Why the chain does not begin earlier and not end later.
  std::string begins, ends;
};

/// The region of a chain over time: what one step reads and gives.
struct StepDescription {
  std::string operation, name;
  std::vector<Shape> states, saved, captures, emitted;
  /// A cotangent that is added before every step, and the number of the state whose it
  /// is.
  struct Injected {
    Shape shape;
    int64_t state;
  };
  std::vector<Injected> injected;
  /// What the region is made of, by name, in order of the first appearance.
  std::vector<std::pair<std::string, int64_t>> operations;
};

/// The name of the node of a model that `op` was imported from; otherwise its own.
std::string getLayerName(mlir::Operation *op);

LayerGraph describeLayers(const LayerChain &chain);

/// Describes `loop`.
StepDescription describeStep(ChainOp loop);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_LAYERGRAPH_H
