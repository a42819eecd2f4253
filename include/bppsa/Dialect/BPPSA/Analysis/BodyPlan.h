//===- BodyPlan.h - how a body is evaluated row by row ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A body value of type vector<N> is N rows of lanes. Elementwise operations act
// on each row alone, so a whole group of them is one loop over rows with every
// intermediate value in a register. A matrix-vector product needs all rows of
// its vector, so that vector must be in memory before the loop begins. The plan
// cuts a body into as few such loops ("units") as these rules allow.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_BODYPLAN_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_BODYPLAN_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace bppsa {

/// A sum of products that is accumulated in registers:
/// `result = products[0] + products[1] + ... + addend` (the addend may be null).
struct ProductSum {
  mlir::Value result;
  llvm::SmallVector<MatVecOp> products;
  mlir::Value addend;
};

/// One loop over `rows` rows.
struct RowUnit {
  int64_t stage;
  int64_t rows;
  /// Sums of products accumulated before the elementwise part of each row.
  llvm::SmallVector<ProductSum> sums;
  /// Values whose rows are written to memory.
  llvm::SmallVector<mlir::Value> stored;
};

class BodyPlan {
public:
  /// Plans `body`, the last `numCaptures` arguments of which are captures.
  /// Fails, after a diagnostic, where an operation has no row-wise evaluation.
  static llvm::FailureOr<BodyPlan> create(mlir::Block &body, unsigned numCaptures);

  llvm::ArrayRef<RowUnit> getUnits() const { return units; }
  /// Whether `value` is an argument that is an array without lanes.
  bool isCapture(mlir::Value value) const;
  /// Whether rows of `value` are loaded from memory by the unit at `stage`.
  bool isLoadedAt(mlir::Value value, const RowUnit &unit) const;
  /// Whether the rows of result `result` may be written over those of argument
  /// `argument`: nothing reads the argument after that, or in another row.
  bool canOverwrite(unsigned argument, unsigned result) const;

private:
  mlir::LogicalResult computeStages();
  mlir::LogicalResult computeStage(mlir::Operation *op);
  void collectMemoryValues();
  void buildUnits();
  RowUnit &getUnit(int64_t stage, int64_t rows);
  void addStored(mlir::Value value);
  void addNeeded(mlir::Value value, RowUnit &unit, llvm::DenseSet<mlir::Value> &seen);
  /// Stage in which a row of `value` can be had.
  int64_t getStage(mlir::Value value) const;
  /// Last stage at whose end all rows of `value` are in memory.
  int64_t getMemoryStage(mlir::Value value) const;
  bool isLazy(mlir::Value value) const { return lazy.contains(value); }
  bool isInMemoryAtEntry(mlir::Value value) const;

  mlir::Block *body = nullptr;
  unsigned firstCapture = 0;
  llvm::DenseMap<mlir::Value, int64_t> stages;
  /// Values that must be in memory: as a whole they are an operand.
  llvm::SetVector<mlir::Value> inMemory;
  /// Cheap values that every user evaluates anew.
  llvm::DenseSet<mlir::Value> lazy;
  /// Products that are summed into the accumulator of their only user.
  llvm::DenseSet<mlir::Value> fused;
  llvm::SmallVector<RowUnit> units;
};

/// Number of rows of a body value.
int64_t getNumRows(mlir::Value value);

/// The bytes of the matrices that a step of `body` multiplies by.
int64_t getMatrixBytes(mlir::Region &body);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_BODYPLAN_H
