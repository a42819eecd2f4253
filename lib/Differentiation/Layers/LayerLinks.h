//===- LayerLinks.h - chains of layers as lists of links --------*- C++ -*-===//
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

/// A link with the values of its Jacobian.
struct ValuedLink : LayerLink {
  LinkValues values;

  /// The first of its operations that cotangents reach.
  mlir::Operation *getFirstReached() const {
    return entering.empty() ? layer.op : entering.front().op;
  }
};

/// Differentiates chains of layers by lists of `jacobian.link`; what hangs off a chain, gradients
/// of parameters above all, keeps the rules of its operations.
class LayerLinks {
public:
  LayerLinks(mlir::OpBuilder &builder, const Activity &activity, ReverseSweep &sweep)
      : builder(builder), activity(activity), sweep(sweep) {}

  /// Finds the chains of `function`, and says in remarks where they are cut and why.
  void find(mlir::func::FuncOp function);

  /// Whether `op` is a part of a link of a chain that was found.
  bool contains(mlir::Operation *op) const { return linkOf.contains(op); }

  /// Passes cotangents through the link that begins with `op`, and does nothing for its other
  /// operations. Fails, after an error, where a rule does.
  llvm::LogicalResult visit(mlir::Operation *op);

private:
  void addChain(const LayerChain &found, const SampleAxes &axes);
  /// Passes `cotangent`, of as many elements as the result of `layer` has, on to its parameters,
  /// but for `done`, whose gradient is there.
  llvm::LogicalResult addParameterCotangents(const Layer &layer, mlir::Value cotangent,
                                             mlir::Value done);

  mlir::OpBuilder &builder;
  const Activity &activity;
  ReverseSweep &sweep;
  /// Of all chains; they stay where they are.
  std::deque<ValuedLink> links;
  /// By the first operation that cotangents reach; null for other operations of a link.
  llvm::DenseMap<mlir::Operation *, const ValuedLink *> linkOf;
};

/// `link` for `cotangent`, that of the result of its first operation. With `pruned`, weights that
/// are the values of the Jacobian and some of which are known to be zero and stay so, it has a
/// further result, their gradient. Fails, after an error, where a rule does.
llvm::FailureOr<jacobian::LinkOp> createLink(mlir::OpBuilder &builder, const ValuedLink &link,
                                             mlir::Value cotangent, mlir::Value pruned);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_LAYERS_LAYERLINKS_H
