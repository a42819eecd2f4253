//===- LayerChains.h - chains of layers of a graph --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Finds the operations of a graph that form the links of a chain. The plan evaluator, the report
// and differentiation share this analysis, so they agree on the links.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_ANALYSIS_LAYERCHAINS_H
#define BPPSA_DIALECT_JACOBIAN_ANALYSIS_LAYERCHAINS_H

#include "bppsa/Dialect/Jacobian/Analysis/JacobianStructure.h"

namespace bppsa {

/// An operation of a graph, and the only operand that receives a cotangent from it.
struct Layer {
  mlir::Operation *op;
  mlir::Value operand;
  jacobian::MatrixType type;
};

/// A link of a chain: an operation whose transposed Jacobian is not an identity. A convolution or
/// pooling operation absorbs the padding and slices of its input.
struct LayerLink {
  Layer layer;
  /// Operations with an identity Jacobian, such as biases and reshapes, in the order in which
  /// cotangents pass through them before they reach `layer`.
  llvm::SmallVector<Layer> entering;
  /// Operations that the link absorbs, in the order in which cotangents pass through them after
  /// `layer`.
  llvm::SmallVector<Layer> absorbed;
  /// The operand that receives the cotangent of the link, and the transposed Jacobian of the link.
  /// These are the operand and the type of `layer` unless the link absorbs other operations.
  mlir::Value operand;
  jacobian::MatrixType type;
  /// For each element of one sample of `operand`, the corresponding element of the operand of
  /// `layer`, or -1 if it is cut off. Empty if the link absorbs no operation.
  std::vector<int32_t> rows;

  mlir::Operation *getOp() const { return layer.op; }
};

/// A part of a graph with a single path for cotangents.
struct LayerChain {
  /// The links in the order in which cotangents reach them. None is an identity.
  llvm::SmallVector<LayerLink, 0> links;
  /// The reasons why the chain does not begin earlier or end later; empty at an argument.
  std::string begins, ends;
};

/// Returns the link that ends with `result`, regardless of other users of its operands, and
/// attaches `jacobian.operands` to its operations. Returns nullopt if not exactly one operand
/// receives a cotangent.
std::optional<LayerLink> findLayerLink(mlir::OpResult result, const SampleAxes &axes);

/// Called for each operation that is not a link although its structure is known, with the reason.
using ObstacleReport = llvm::function_ref<void(mlir::Operation *op, llvm::StringRef why)>;

/// Returns the maximal chains of at least two links in `function`, using the structure found by
/// `annotateGraphStructure`. A chain ends at a value with several users with structure, at an
/// operation with several operands with structure, and at a Jacobian whose values are not known.
std::vector<LayerChain> findLayerChains(mlir::FunctionOpInterface function, ObstacleReport report);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_ANALYSIS_LAYERCHAINS_H
