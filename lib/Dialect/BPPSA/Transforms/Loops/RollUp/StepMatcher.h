//===- StepMatcher.h - equal steps in straight-line code --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPMATCHER_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPMATCHER_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <deque>

namespace bppsa {

/// The values that one place of a step has at every step.
struct StepTuple {
  enum Kind {
    /// The same value at every step.
    Capture,
    /// Values that no step computes: slices of an array, or others.
    Sequence,
    /// The value that the step before made, at step 0 an initial value.
    State,
    /// Results of equal operations.
    Op
  };
  Kind kind;
  /// From step 0 on; null where the steps end.
  llvm::SmallVector<mlir::Value> values;
  /// Op: tuples of what the operations read, as `getReads` lists it.
  llvm::SmallVector<unsigned> reads;
  /// State: the tuple of the values after each step.
  unsigned next = 0;
  /// Whether the values follow from those of the steps before.
  bool isDependent = false;

  mlir::Value front() const { return values.front(); }
  mlir::Operation *getOp(unsigned step) const { return values[step].getDefiningOp(); }
};

/// What `op` reads from outside: its operands, then what its regions use.
llvm::SmallVector<mlir::Value> getReads(mlir::Operation *op);

/// Whether the operations are equal but for the values that they read from outside.
bool areEqualOps(mlir::Operation *lhs, mlir::Operation *rhs);

/// Slices of one array that lie `distance` apart along `axis`, one position each.
struct StepSlices {
  mlir::Value source;
  int64_t axis, first, distance;
  /// Whether the values lack the axis.
  bool isCollapsed;
};
/// Nothing where `values` are no such slices.
std::optional<StepSlices> getStepSlices(llvm::ArrayRef<mlir::Value> values);

/// Finds the steps around `anchors`, one operation of each step in order. Equal values must be the
/// same value (see `eliminateCommonSubExpressions`).
class StepMatcher {
public:
  StepMatcher(mlir::Block &block, llvm::ArrayRef<mlir::Operation *> anchors);

  /// Fails where the anchors are no equal steps of a recurrence, at least `minSteps` of them.
  mlir::LogicalResult match(unsigned minSteps);

  unsigned getNumSteps() const { return numSteps; }
  size_t size() const { return tuples.size(); }
  const StepTuple &operator[](unsigned index) const { return tuples[index]; }
  /// Whether `op` is that of a dependent tuple at one of the steps.
  bool isStepOp(mlir::Operation *op) const { return stepOps.contains(op); }

private:
  mlir::FailureOr<unsigned> visit(llvm::SmallVector<mlir::Value> values);
  mlir::FailureOr<unsigned> visitState(llvm::SmallVector<mlir::Value> values);
  mlir::LogicalResult visitReads(unsigned tuple);
  bool isOpTuple(llvm::ArrayRef<mlir::Value> values) const;
  bool isDependent(mlir::Value value) const;
  unsigned add(StepTuple::Kind kind, llvm::SmallVector<mlir::Value> values);
  /// Finds values at steps for which only those that they follow from are known.
  void fill();
  bool fillNext(StepTuple &tuple);
  mlir::Value findNext(const StepTuple &tuple) const;
  /// Adds what every step makes of its own values alone.
  void extend();
  bool extendTo(mlir::Operation *user);
  unsigned countKnown(const StepTuple &tuple) const;

  mlir::Block &block;
  llvm::SmallVector<mlir::Operation *> anchors;
  unsigned numSteps = 0;
  std::deque<StepTuple> tuples;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, unsigned> numbers;
  /// The tuple that has a value at step 0, if it is one of results.
  llvm::DenseMap<mlir::Value, unsigned> atFirstStep;
  llvm::DenseSet<mlir::Operation *> dependent, stepOps;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPMATCHER_H
