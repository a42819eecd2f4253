//===- LayerChains.h - chains of layers of a graph --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Which operations of a graph are the links of a chain. The plan evaluator, the
// report and differentiation ask here, so that they tell of the same links.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_ANALYSIS_LAYERCHAINS_H
#define BPPSA_DIALECT_JACOBIAN_ANALYSIS_LAYERCHAINS_H

#include "bppsa/Dialect/Jacobian/Analysis/JacobianStructure.h"

namespace bppsa {

/// An operation of a graph, and the only operand through which cotangents leave it.
struct Layer {
  mlir::Operation *op;
  mlir::Value operand;
  jacobian::MatrixType type;
};

/// A link of a chain: an operation whose transposed Jacobian is no identity, with the padding or
/// the slices before it where it takes them in, as a convolution or a pool does.
struct LayerLink {
  /// The operation alone.
  Layer layer;
  /// Operations whose Jacobian is an identity, in the order in which cotangents pass them before
  /// they reach `layer`: biases, reshapes.
  llvm::SmallVector<Layer> entering;
  /// What the link takes in, in the same order after `layer`.
  llvm::SmallVector<Layer> takenIn;
  /// Where cotangents leave the link, and its transposed Jacobian: those of `layer` but for what
  /// the link takes in.
  mlir::Value operand;
  jacobian::MatrixType type;
  /// For each element of one sample of `operand` that of the layer's own operand that it is, -1
  /// where it is cut off; empty where the link takes nothing in.
  std::vector<int32_t> rows;

  mlir::Operation *getOp() const { return layer.op; }
};

/// A part of a graph through which cotangents have one way.
struct LayerChain {
  /// In the order in which cotangents reach them; none is an identity.
  llvm::SmallVector<LayerLink, 0> links;
  /// Why the chain does not begin earlier and not end later; empty at an argument.
  std::string begins, ends;
};

/// The link that ends with `result`, whoever else reads its operands; gives its operations their
/// `jacobian.operands`. Nothing where cotangents leave through no operand or several.
std::optional<LayerLink> findLayerLink(mlir::OpResult result, const SampleAxes &axes);

/// Is told of an operation that is no link of a chain though its structure is known, and why.
using ObstacleReport = llvm::function_ref<void(mlir::Operation *op, llvm::StringRef why)>;

/// The longest such parts of `function`, of at least two links, by the structure that
/// `annotateGraphStructure` found. They are cut where a value has several users with structure or
/// an operation several such operands, and where the values of a Jacobian are not known.
std::vector<LayerChain> findLayerChains(mlir::FunctionOpInterface function, ObstacleReport report);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_ANALYSIS_LAYERCHAINS_H
