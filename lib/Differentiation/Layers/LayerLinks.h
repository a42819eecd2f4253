//===- LayerLinks.h - layer chains as lists of links ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_LAYERS_LAYERLINKS_H
#define BPPSA_LIB_DIFFERENTIATION_LAYERS_LAYERLINKS_H

#include "bppsa/Dialect/Jacobian/Analysis/LayerChains.h"
#include "bppsa/Dialect/Jacobian/Analysis/LinkValues.h"
#include "bppsa/Differentiation/Differentiation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <deque>

namespace bppsa {

struct ValuedLink : LayerLink {
  LinkValues values;

  /// Returns the first operation of the link that the reverse sweep reaches.
  mlir::Operation *getFirstReached() const {
    return entering.empty() ? layer.op : entering.front().op;
  }
};

/// Differentiates chains of layers as lists of `jacobian.link`. Side branches, mainly parameter
/// gradients, use the rules of their operations.
class LayerLinks {
public:
  LayerLinks(mlir::OpBuilder &builder, const Activity &activity, ReverseSweep &sweep)
      : builder(builder), activity(activity), sweep(sweep) {}

  /// Finds the chains of `function`. Remarks report where chains are cut, and why.
  void find(mlir::func::FuncOp function);

  bool contains(mlir::Operation *op) const { return linkOf.contains(op); }

  /// Propagates cotangents through the link if `op` is its first operation, and ignores its other
  /// operations. Emits an error if a rule fails.
  llvm::LogicalResult visit(mlir::Operation *op);

private:
  void addChain(const LayerChain &found, const SampleAxes &axes);
  /// Propagates `cotangent`, reshaped to the result of `layer`, to the parameters of `layer`. Skips
  /// `done`, whose gradient already exists.
  llvm::LogicalResult addParameterCotangents(const Layer &layer, mlir::Value cotangent,
                                             mlir::Value done);

  mlir::OpBuilder &builder;
  const Activity &activity;
  ReverseSweep &sweep;
  /// Links of all chains. A deque keeps their addresses stable.
  std::deque<ValuedLink> links;
  /// Keyed by the operations of all links. The value is the link for the first operation that the
  /// reverse sweep reaches, and null for the other operations.
  llvm::DenseMap<mlir::Operation *, const ValuedLink *> linkOf;
};

/// Creates the op for `link`, given the `cotangent` of the result of its first operation. If
/// `pruned` is not null, these are weights used as Jacobian values with zeros that stay zero; the
/// op then has an additional result, their gradient. Emits an error if a rule fails.
llvm::FailureOr<jacobian::LinkOp> createLink(mlir::OpBuilder &builder, const ValuedLink &link,
                                             mlir::Value cotangent, mlir::Value pruned);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_LAYERS_LAYERLINKS_H
