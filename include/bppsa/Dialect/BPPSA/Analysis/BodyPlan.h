//===- BodyPlan.h - row-wise evaluation of a body ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A body value of type vector<N> is lowered to N rows of lanes. Elementwise operations read only
// the same row of their operands, so a group of them becomes one loop over rows that keeps all
// intermediate values in registers. A matrix-vector product reads all rows of its vector, which
// must be in memory before the loop begins. The plan divides a body into the fewest such loops
// ("units").
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_BODYPLAN_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_BODYPLAN_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace bppsa {

/// A sum of products that is accumulated in registers: `result = products[0] + products[1] + ... +
/// addend`. The addend may be null.
struct ProductSum {
  mlir::Value result;
  llvm::SmallVector<MatVecOp> products;
  mlir::Value addend;
};

struct RowUnit {
  int64_t stage;
  int64_t rows;
  /// Sums of products that are accumulated before the elementwise part of each row.
  llvm::SmallVector<ProductSum> sums;
  /// Values whose rows the unit writes to memory.
  llvm::SmallVector<mlir::Value> stored;
};

class BodyPlan {
public:
  /// Plans `body`, whose last `numCaptures` arguments are captures. Fails with a diagnostic if an
  /// operation cannot be evaluated row by row.
  static llvm::FailureOr<BodyPlan> create(mlir::Block &body, unsigned numCaptures);

  llvm::ArrayRef<RowUnit> getUnits() const { return units; }
  /// Returns true if `value` is a captured argument, an array without lanes.
  bool isCapture(mlir::Value value) const;
  /// Returns true if `unit` loads rows of `value` from memory.
  bool isLoadedAt(mlir::Value value, const RowUnit &unit) const;
  /// Returns true if rows of result `result` may overwrite rows of argument `argument`. This
  /// requires that no later unit and no other row reads the argument.
  bool canOverwrite(unsigned argument, unsigned result) const;

private:
  mlir::LogicalResult computeStages();
  mlir::LogicalResult computeStage(mlir::Operation *op);
  void collectMemoryValues();
  void buildUnits();
  RowUnit &getUnit(int64_t stage, int64_t rows);
  void addStored(mlir::Value value);
  void addNeeded(mlir::Value value, RowUnit &unit, llvm::DenseSet<mlir::Value> &seen);
  /// Returns the first stage in which a row of `value` is available.
  int64_t getStage(mlir::Value value) const;
  /// Returns the stage after which all rows of `value` are in memory.
  int64_t getMemoryStage(mlir::Value value) const;
  bool isLazy(mlir::Value value) const { return lazy.contains(value); }
  bool isInMemoryAtEntry(mlir::Value value) const;

  mlir::Block *body = nullptr;
  unsigned firstCapture = 0;
  llvm::DenseMap<mlir::Value, int64_t> stages;
  /// Values that must be in memory because an operation reads all of their rows.
  llvm::SetVector<mlir::Value> inMemory;
  /// Cheap values that every user recomputes.
  llvm::DenseSet<mlir::Value> lazy;
  /// Products that are accumulated in the registers of their only user.
  llvm::DenseSet<mlir::Value> fused;
  llvm::SmallVector<RowUnit> units;
};

int64_t getNumRows(mlir::Value value);

/// Returns the bytes of the matrices that one step of `body` multiplies by.
int64_t getMatrixBytes(mlir::Region &body);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_BODYPLAN_H
