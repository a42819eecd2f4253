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

struct LinkWithJacobian : LayerLink {
  LinkValues values;

  /// Returns the first operation of the link that the reverse sweep reaches.
  mlir::Operation *getFirstReached() const {
    return entering.empty() ? layer.op : entering.front().op;
  }
};

/// Differentiates chains of layers as lists of `jacobian.link`. Parameter gradients use the rules
/// of their operations.
class LayerLinks {
public:
  LayerLinks(mlir::OpBuilder &builder, const Activity &activity, ReverseSweep &sweep)
      : builder(builder), activity(activity), sweep(sweep) {}

  void find(mlir::func::FuncOp function);

  bool contains(mlir::Operation *op) const { return linkOf.contains(op); }

  llvm::LogicalResult visit(mlir::Operation *op);

private:
  void addChain(const LayerChain &found, const SampleAxes &axes);
  llvm::LogicalResult addParameterCotangents(const Layer &layer, mlir::Value cotangent,
                                             mlir::Value done);

  mlir::OpBuilder &builder;
  const Activity &activity;
  ReverseSweep &sweep;
  /// A deque keeps addresses of links stable.
  std::deque<LinkWithJacobian> links;
  /// The link for its operation that the reverse sweep reaches first, null for its other
  /// operations.
  llvm::DenseMap<mlir::Operation *, const LinkWithJacobian *> linkOf;
};

/// Creates the op for `link` from the `cotangent` of its result. With `pruned` (weights whose zeros
/// stay zero), the op also returns their gradient.
llvm::FailureOr<jacobian::LinkOp> createLink(mlir::OpBuilder &builder, const LinkWithJacobian &link,
                                             mlir::Value cotangent, mlir::Value pruned);

} // namespace bppsa

#endif
