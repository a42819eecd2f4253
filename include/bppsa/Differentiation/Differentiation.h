//===- Differentiation.h - reverse-mode differentiation ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIFFERENTIATION_DIFFERENTIATION_H
#define BPPSA_DIFFERENTIATION_DIFFERENTIATION_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/IR/DialectRegistry.h"

namespace bppsa {

class SliceSums;

/// Attaches differentiation rules (`VJPOpInterface`) to ops.
void registerVJPExternalModels(mlir::DialectRegistry &registry);

/// The values of one block that depend on the differentiated values. Only active values receive a
/// cotangent.
class Activity {
public:
  void add(mlir::Value value) { active.insert(value); }
  bool contains(mlir::Value value) const { return active.contains(value); }

  void propagate(mlir::Block &block);

private:
  llvm::DenseSet<mlir::Value> active;
};

/// Returns the operands of `op` followed by the values that its regions capture, in order of first
/// use.
llvm::SmallVector<mlir::Value> getDifferentiatedOperands(mlir::Operation *op);

/// Applies the rule of `op`, which may replace it. Returns the cotangents of
/// `getDifferentiatedOperands(op)`; null means zero or not `needed`. Emits an error if there is no
/// rule.
llvm::FailureOr<llvm::SmallVector<mlir::Value>> applyRule(mlir::OpBuilder &builder,
                                                          mlir::Operation *op,
                                                          mlir::ValueRange resultCotangents,
                                                          llvm::ArrayRef<bool> needed);

/// A reverse sweep over straight-line code: seed cotangents with `add`, then visit the ops from
/// last to first.
class ReverseSweep {
public:
  ReverseSweep(mlir::OpBuilder &builder, const Activity &activity);
  ~ReverseSweep();

  /// Accumulates into the cotangent of `value`. A fresh cotangent may be changed in place.
  void add(mlir::Value value, mlir::Value cotangent, bool isFresh = false);

  /// Returns the cotangent of `value`, or null if it is zero.
  mlir::Value lookup(mlir::Value value) const { return cotangents.lookup(value); }

  /// Propagates the cotangents of the results of `op` to its operands with `applyRule`.
  llvm::LogicalResult visit(mlir::Operation *op);

private:
  /// Adds `sum` to `fresh` in place, as the accumulator of a product or the destination of an
  /// inserted slice, if possible.
  bool addInPlace(mlir::Value fresh, mlir::Value sum);

  mlir::OpBuilder &builder;
  const Activity &activity;
  llvm::DenseMap<mlir::Value, mlir::Value> cotangents;
  std::unique_ptr<SliceSums> sliceSums;
};

/// Erases the ops of `block` that have no side effects and no used results, including chains of
/// them.
void eraseDeadOps(mlir::Block &block);

} // namespace bppsa

#endif // BPPSA_DIFFERENTIATION_DIFFERENTIATION_H
