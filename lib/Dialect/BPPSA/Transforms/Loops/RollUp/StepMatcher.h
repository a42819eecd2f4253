//===- StepMatcher.h - matches steps in straight-line code ------*- C++ -*-===//
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

/// Corresponding values in all steps.
struct StepTuple {
  enum Kind {
    /// The same value in all steps.
    Capture,
    /// Values computed outside the steps: slices of an array, or others.
    Sequence,
    /// The value computed by the previous step; in step 0, an initial value.
    State,
    /// Results of equal operations.
    Op
  };
  Kind kind;
  /// Values from step 0 on; null if unknown.
  llvm::SmallVector<mlir::Value> values;
  /// Op: the tuples of the values that the operations read, in the order of `getReads`.
  llvm::SmallVector<unsigned> reads;
  /// State: the tuple of the values after each step.
  unsigned next = 0;
  /// True if the values depend on those of previous steps.
  bool isDependent = false;

  mlir::Value front() const { return values.front(); }
  mlir::Operation *getOp(unsigned step) const { return values[step].getDefiningOp(); }
};

/// Returns the values that `op` reads from outside: its operands, then values that its regions use.
llvm::SmallVector<mlir::Value> getReads(mlir::Operation *op);

/// Returns true if the operations only differ in the values that they read from outside.
bool areEqualOps(mlir::Operation *lhs, mlir::Operation *rhs);

/// Finds the steps around `anchors`, which are one operation of each step in order. Run CSE first,
/// because values are compared by identity.
class StepMatcher {
public:
  StepMatcher(mlir::Block &block, llvm::ArrayRef<mlir::Operation *> anchors);

  /// Matches the steps. Fails if the anchors are not at least `minSteps` equal steps of a
  /// recurrence. Operations that depend only on a step belong to it. With `readSequences`, so do
  /// operations that depend on a step and on slices of other arrays.
  mlir::LogicalResult match(unsigned minSteps, bool readSequences);

  unsigned getNumSteps() const { return numSteps; }
  size_t size() const { return tuples.size(); }
  const StepTuple &operator[](unsigned index) const { return tuples[index]; }
  /// Returns true if `op` is an operation of a dependent tuple in one of the steps.
  bool isStepOp(mlir::Operation *op) const { return stepOps.contains(op); }
  size_t getWork() const { return work; }

private:
  mlir::FailureOr<unsigned> visit(llvm::SmallVector<mlir::Value> values);
  mlir::FailureOr<unsigned> visitState(llvm::SmallVector<mlir::Value> values);
  mlir::LogicalResult visitReads(unsigned tuple);
  bool isOpTuple(llvm::ArrayRef<mlir::Value> values) const;
  /// Returns true if `value` depends on an anchor.
  bool isDependent(mlir::Value value);
  std::optional<bool> getDependence(mlir::Operation *op);
  unsigned add(StepTuple::Kind kind, llvm::SmallVector<mlir::Value> values);
  /// Completes tuples in the last steps, for which no later step provides values.
  void fill();
  bool fillNext(unsigned number);
  mlir::Value findNextSlice(const StepTuple &tuple);
  bool completeNext(unsigned number);
  bool complete(unsigned number, unsigned step, mlir::Value value,
                llvm::SmallVectorImpl<unsigned> &completed);
  /// Adds operations that depend on a step and belong to it.
  void extend(bool readSequences);
  bool extendTo(mlir::Operation *user, bool readSequences);
  llvm::SmallVector<mlir::Value> findEqualUsers(mlir::Operation *user);
  bool isExtension(size_t size, bool readSequences) const;
  void truncate(size_t size);
  void markStepOps(size_t size);
  unsigned countKnown(const StepTuple &tuple) const;

  mlir::Block &block;
  llvm::SmallVector<mlir::Operation *> anchors;
  unsigned numSteps = 0;
  std::deque<StepTuple> tuples;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, unsigned> numbers;
  /// The tuple of results that has a given value in step 0.
  llvm::DenseMap<mlir::Value, unsigned> atFirstStep;
  /// Caches whether operations depend on an anchor.
  llvm::DenseMap<mlir::Operation *, bool> dependences;
  llvm::DenseSet<mlir::Operation *> stepOps;
  /// Maximum depth of a chain of operations in a step, because `visit` is recursive.
  static constexpr unsigned kMaxDepth = 1000;
  unsigned depth = 0;
  size_t work = 0;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPMATCHER_H
