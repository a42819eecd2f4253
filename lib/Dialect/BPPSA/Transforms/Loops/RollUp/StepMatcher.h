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
    Capture,
    /// Computed outside the steps.
    Sequence,
    /// Computed by the previous step, or the initial value.
    State,
    Op
  };
  Kind kind;
  /// Values by step; null if unknown.
  llvm::SmallVector<mlir::Value> values;
  /// For `Op`, the tuples read, in the order of `getReads`.
  llvm::SmallVector<unsigned> reads;
  /// For `State`, the tuple after each step.
  unsigned next = 0;
  /// True if the values depend on previous steps.
  bool isDependent = false;

  mlir::Value front() const { return values.front(); }
  mlir::Operation *getOp(unsigned step) const { return values[step].getDefiningOp(); }
};

/// Returns operands, then outer values used in regions.
llvm::SmallVector<mlir::Value> getReads(mlir::Operation *op);

bool areEqualOps(mlir::Operation *lhs, mlir::Operation *rhs);

/// Finds the steps around `anchors`, one operation of each step. Compares values by identity, so
/// run CSE first.
class StepMatcher {
public:
  StepMatcher(mlir::Block &block, llvm::ArrayRef<mlir::Operation *> anchors);

  /// Fails without `minSteps` equal steps of a recurrence. Operations that depend only on a step
  /// belong to it; with `readSequences`, they may also read slices.
  mlir::LogicalResult match(unsigned minSteps, bool readSequences);

  unsigned getNumSteps() const { return numSteps; }
  size_t size() const { return tuples.size(); }
  const StepTuple &operator[](unsigned index) const { return tuples[index]; }
  bool isStepOp(mlir::Operation *op) const { return stepOps.contains(op); }
  size_t getWork() const { return work; }

private:
  mlir::FailureOr<unsigned> visit(llvm::SmallVector<mlir::Value> values);
  mlir::FailureOr<unsigned> visitState(llvm::SmallVector<mlir::Value> values);
  mlir::LogicalResult visitReads(unsigned tuple);
  bool isOpTuple(llvm::ArrayRef<mlir::Value> values) const;
  bool isDependent(mlir::Value value);
  std::optional<bool> getDependence(mlir::Operation *op);
  unsigned add(StepTuple::Kind kind, llvm::SmallVector<mlir::Value> values);
  /// Completes the last steps, which have no later step.
  void fill();
  bool fillNext(unsigned number);
  mlir::Value findNextSlice(const StepTuple &tuple);
  bool completeNext(unsigned number);
  bool complete(unsigned number, unsigned step, mlir::Value value,
                llvm::SmallVectorImpl<unsigned> &completed);
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
  llvm::DenseMap<mlir::Value, unsigned> atFirstStep;
  llvm::DenseMap<mlir::Operation *, bool> dependences;
  llvm::DenseSet<mlir::Operation *> stepOps;
  static constexpr unsigned kMaxDepth = 1000;
  unsigned depth = 0;
  size_t work = 0;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPMATCHER_H
