//===- LayerChains.h - chains of layers of a graph --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Finds the links of chains for the plan evaluator, the report and differentiation.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_ANALYSIS_LAYERCHAINS_H
#define BPPSA_DIALECT_JACOBIAN_ANALYSIS_LAYERCHAINS_H

#include "bppsa/Dialect/Jacobian/Analysis/JacobianStructure.h"

namespace bppsa {

/// An operation and the only operand that receives a cotangent from it.
struct Layer {
  mlir::Operation *op;
  mlir::Value operand;
  jacobian::MatrixType type;
};

/// An operation whose transposed Jacobian is no identity. Convolution and pooling absorb padding
/// and slices of their input.
struct LayerLink {
  Layer layer;
  /// Operations with an identity Jacobian (bias, reshape) before `layer`, in cotangent order.
  llvm::SmallVector<Layer> entering;
  /// Operations that the link absorbs, in the order in which cotangents pass through them after
  /// `layer`.
  llvm::SmallVector<Layer> absorbed;
  /// The operand that receives the cotangent of the link, and the transposed Jacobian of the link.
  /// These are the operand and the type of `layer` unless the link absorbs other operations.
  mlir::Value operand;
  jacobian::MatrixType type;
  /// For each element of a sample of `operand`, the element of the operand of `layer`, or -1. Empty
  /// if nothing is absorbed.
  std::vector<int32_t> rows;

  mlir::Operation *getOp() const { return layer.op; }
};

/// A part of a graph with a single path for cotangents.
struct LayerChain {
  llvm::SmallVector<LayerLink, 0> links;
  /// Reasons why the chain does not begin earlier or end later; empty at an argument.
  std::string begins, ends;
};

/// Returns the link that ends with `result`, regardless of other users, and attaches
/// `jacobian.operands`. Returns nullopt unless exactly one operand receives a cotangent.
std::optional<LayerLink> findLayerLink(mlir::OpResult result, const SampleAxes &axes);

/// Called with the reason for each operation with known structure that is not a link.
using ObstacleReport = llvm::function_ref<void(mlir::Operation *op, llvm::StringRef why)>;

/// Returns the maximal chains of at least two links, after `annotateGraphStructure`. A chain ends
/// at several users or operands with structure, or at a Jacobian with unknown values.
std::vector<LayerChain> findLayerChains(mlir::FunctionOpInterface function, ObstacleReport report);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_ANALYSIS_LAYERCHAINS_H
