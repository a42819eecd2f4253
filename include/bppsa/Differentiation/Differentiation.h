//===- Differentiation.h - reverse-mode differentiation --------*- C++ -*-===//
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

/// Attaches the differentiation rules (`VJPOpInterface`) to the ops of the
/// arith, bppsa, linalg, math, tensor and vector dialects.
void registerVJPExternalModels(mlir::DialectRegistry &registry);

/// Which values of one block change when the differentiated values change.
/// Only those are given a cotangent.
class Activity {
public:
  /// Makes `value` one of the differentiated values.
  void add(mlir::Value value) { active.insert(value); }
  bool contains(mlir::Value value) const { return active.contains(value); }

  /// Extends the activity through the ops of `block`, in order.
  void propagate(mlir::Block &block);

private:
  llvm::DenseSet<mlir::Value> active;
};

/// The operands of `op` and after them the values that its regions capture
/// from above, in order of first use: what a rule gives cotangents for.
llvm::SmallVector<mlir::Value> getDifferentiatedOperands(mlir::Operation *op);

/// The cotangents of what `getDifferentiatedOperands` gives, by the rule of `op`; null where they
/// are zero or not `needed`. Fails, after an error that names the op, where there is no rule. The
/// rule may replace `op`.
llvm::FailureOr<llvm::SmallVector<mlir::Value>> applyRule(mlir::OpBuilder &builder,
                                                          mlir::Operation *op,
                                                          mlir::ValueRange resultCotangents,
                                                          llvm::ArrayRef<bool> needed);

/// One reverse sweep over straight-line code. The caller seeds cotangents with
/// `add` and visits the ops from last to first; new ops are created at the
/// insertion point of `builder`.
class ReverseSweep {
public:
  ReverseSweep(mlir::OpBuilder &builder, const Activity &activity);
  ~ReverseSweep();

  /// Adds `cotangent` to what is known of the cotangent of `value`. A fresh
  /// cotangent was just built for this sum only and may be changed in place.
  void add(mlir::Value value, mlir::Value cotangent, bool isFresh = false);

  /// The cotangent of `value`; null where it is zero.
  mlir::Value lookup(mlir::Value value) const { return cotangents.lookup(value); }

  /// Passes the cotangents of the results of `op` on to its operands, as `applyRule` does.
  llvm::LogicalResult visit(mlir::Operation *op);

private:
  /// Adds `sum` to `fresh`, which was just built and has no other user, in place:
  /// a product takes the sum as its addend and a slice is written into it.
  /// Returns whether that was possible.
  bool addInPlace(mlir::Value fresh, mlir::Value sum);

  mlir::OpBuilder &builder;
  const Activity &activity;
  llvm::DenseMap<mlir::Value, mlir::Value> cotangents;
  std::unique_ptr<SliceSums> sliceSums;
};

/// Erases the ops of `block` whose results are unused and that have no side
/// effects, including chains of them.
void eraseDeadOps(mlir::Block &block);

} // namespace bppsa

#endif // BPPSA_DIFFERENTIATION_DIFFERENTIATION_H
