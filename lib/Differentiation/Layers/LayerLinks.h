//===- LayerLinks.h - chains of layers with explicit Jacobians --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_LAYERS_LAYERLINKS_H
#define BPPSA_LIB_DIFFERENTIATION_LAYERS_LAYERLINKS_H

#include "bppsa/Dialect/BPPSA/Analysis/LayerChains.h"
#include "bppsa/Dialect/BPPSA/Analysis/LinkValues.h"
#include "bppsa/Differentiation/Differentiation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// Differentiates chains of layers by lists of `bppsa.apply` on explicit transposed
/// Jacobians; what hangs off a chain, gradients of parameters above all, keeps the
/// rules of its operations.
class LayerLinks {
public:
  /// With `isDense` Jacobians have all their elements, made column by column by the rules of the
  /// operations: nothing that is known of their structure is used.
  LayerLinks(mlir::OpBuilder &builder, const Activity &activity, ReverseSweep &sweep, bool isDense)
      : builder(builder), activity(activity), sweep(sweep), isDense(isDense) {}

  /// Finds the chains of `function`, and says in remarks where they are cut and why.
  void find(mlir::func::FuncOp function);

  /// Whether `op` is a layer of a chain that was found.
  bool contains(mlir::Operation *op) const { return chainOf.contains(op); }

  /// Passes cotangents through the chain that ends with `op`, and does nothing for
  /// its other layers. Fails, after an error, where a rule does.
  llvm::LogicalResult visit(mlir::Operation *op);

private:
  /// A link with the values of its Jacobian.
  struct Link : LayerLink {
    LinkValues values;
  };
  using Chain = llvm::SmallVector<Link, 0>;

  void addChain(const LayerChain &found, const SampleAxes &axes);
  /// The transposed Jacobian of a link.
  llvm::FailureOr<mlir::Value> createJacobian(const Link &link);
  llvm::FailureOr<mlir::Value> createSlopes(const Layer &layer);
  mlir::Value createChoices(const Link &link);
  /// The gradient of weights some of which are known to be zero, and stay so.
  mlir::Value createPrunedGradient(const Link &link, mlir::Value cotangent);
  /// Passes the cotangent of the result of a layer on to its parameters, but for `done`, whose
  /// gradient is there.
  llvm::LogicalResult addParameterCotangents(const Layer &layer, mlir::Value cotangent,
                                             mlir::Value done);
  llvm::LogicalResult addParameterCotangents(const Link &link, mlir::Value cotangent);

  mlir::OpBuilder &builder;
  const Activity &activity;
  ReverseSweep &sweep;
  bool isDense;
  std::vector<Chain> chains;
  llvm::DenseMap<mlir::Operation *, size_t> chainOf;
};

/// All elements of the transposed Jacobian of `link` for each sample: column j is what the rules of
/// its operations make of a cotangent that is one at element j of the result.
llvm::FailureOr<mlir::Value> createDenseJacobian(mlir::OpBuilder &builder, const LayerLink &link);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_LAYERS_LAYERLINKS_H
