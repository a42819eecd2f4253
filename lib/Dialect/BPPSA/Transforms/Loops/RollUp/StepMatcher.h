//===- StepMatcher.h - equal steps in straight-line code --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPMATCHER_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPMATCHER_H

#include "StepSlices.h"
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

/// Finds the steps around `anchors`, one operation of each step in order. Equal values must be the
/// same value (see `eliminateCommonSubExpressions`).
class StepMatcher {
public:
  StepMatcher(mlir::Block &block, llvm::ArrayRef<mlir::Operation *> anchors);

  /// Fails where the anchors are no equal steps of a recurrence, at least `minSteps` of them.
  /// What follows from a step alone belongs to it; with `readSequences` also what follows from it
  /// and from slices of other arrays.
  mlir::LogicalResult match(unsigned minSteps, bool readSequences);

  unsigned getNumSteps() const { return numSteps; }
  size_t size() const { return tuples.size(); }
  const StepTuple &operator[](unsigned index) const { return tuples[index]; }
  /// Whether `op` is that of a dependent tuple at one of the steps.
  bool isStepOp(mlir::Operation *op) const { return stepOps.contains(op); }
  /// The number of values and operations that were compared.
  size_t getWork() const { return work; }

private:
  mlir::FailureOr<unsigned> visit(llvm::SmallVector<mlir::Value> values);
  mlir::FailureOr<unsigned> visitState(llvm::SmallVector<mlir::Value> values);
  mlir::LogicalResult visitReads(unsigned tuple);
  bool isOpTuple(llvm::ArrayRef<mlir::Value> values) const;
  /// Whether `value` follows from an anchor.
  bool isDependent(mlir::Value value);
  std::optional<bool> getDependence(mlir::Operation *op);
  unsigned add(StepTuple::Kind kind, llvm::SmallVector<mlir::Value> values);
  /// Finds values at steps for which only those that they follow from are known.
  void fill();
  bool fillNext(unsigned number);
  mlir::Value findNextSlice(const StepTuple &tuple);
  bool completeNext(unsigned number);
  bool complete(unsigned number, unsigned step, mlir::Value value,
                llvm::SmallVectorImpl<unsigned> &completed);
  /// Adds the operations that follow from a step and belong to it.
  void extend(bool readSequences);
  bool extendTo(mlir::Operation *user, bool readSequences);
  llvm::SmallVector<mlir::Value> findEqualUsers(mlir::Operation *user);
  bool isExtension(size_t size, bool readSequences) const;
  void truncate(size_t size);
  /// Marks the operations of the tuples from `size` on.
  void markStepOps(size_t size);
  unsigned countKnown(const StepTuple &tuple) const;

  mlir::Block &block;
  llvm::SmallVector<mlir::Operation *> anchors;
  unsigned numSteps = 0;
  std::deque<StepTuple> tuples;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, unsigned> numbers;
  /// The tuple that has a value at step 0, if it is one of results.
  llvm::DenseMap<mlir::Value, unsigned> atFirstStep;
  /// Whether operations follow from an anchor, as far as that was asked.
  llvm::DenseMap<mlir::Operation *, bool> dependences;
  llvm::DenseSet<mlir::Operation *> stepOps;
  /// Longer chains of operations in one step are not followed: `visit` is recursive.
  static constexpr unsigned kMaxDepth = 1000;
  unsigned depth = 0;
  size_t work = 0;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPMATCHER_H
