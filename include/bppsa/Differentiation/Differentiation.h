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

/// Attaches the differentiation rules (`VJPOpInterface`) to the ops of the arith, bppsa, linalg,
/// math, tensor and vector dialects.
void registerVJPExternalModels(mlir::DialectRegistry &registry);

/// The values of one block that depend on the differentiated values. Only active values receive a
/// cotangent.
class Activity {
public:
  void add(mlir::Value value) { active.insert(value); }
  bool contains(mlir::Value value) const { return active.contains(value); }

  /// Propagates activity through the ops of `block`, in order.
  void propagate(mlir::Block &block);

private:
  llvm::DenseSet<mlir::Value> active;
};

/// Returns the operands of `op` followed by the values that its regions capture from above, in
/// order of first use. A rule produces a cotangent for each of them.
llvm::SmallVector<mlir::Value> getDifferentiatedOperands(mlir::Operation *op);

/// Applies the rule of `op` and returns the cotangents of `getDifferentiatedOperands(op)`. A
/// cotangent is null if it is zero or not `needed`. Emits an error that names the op if there is no
/// rule. The rule may replace `op`.
llvm::FailureOr<llvm::SmallVector<mlir::Value>> applyRule(mlir::OpBuilder &builder,
                                                          mlir::Operation *op,
                                                          mlir::ValueRange resultCotangents,
                                                          llvm::ArrayRef<bool> needed);

/// A reverse sweep over straight-line code. The caller seeds cotangents with `add` and visits the
/// ops from last to first; new ops are created at the insertion point of `builder`.
class ReverseSweep {
public:
  ReverseSweep(mlir::OpBuilder &builder, const Activity &activity);
  ~ReverseSweep();

  /// Accumulates `cotangent` into the cotangent of `value`. A fresh cotangent was built for this
  /// sum only, so it may be changed in place.
  void add(mlir::Value value, mlir::Value cotangent, bool isFresh = false);

  /// Returns the cotangent of `value`, or null if it is zero.
  mlir::Value lookup(mlir::Value value) const { return cotangents.lookup(value); }

  /// Propagates the cotangents of the results of `op` to its operands with `applyRule`.
  llvm::LogicalResult visit(mlir::Operation *op);

private:
  /// Adds `sum` to `fresh`, which was just built and has no other user, in place: a product takes
  /// the sum as its accumulator, and a slice is inserted into the sum. Returns whether this was
  /// possible.
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
