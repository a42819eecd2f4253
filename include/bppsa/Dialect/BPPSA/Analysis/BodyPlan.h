//===- BodyPlan.h - row-wise evaluation of a body ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Divides a body into the fewest loops over rows ("units"). Elementwise values of a unit stay in
// registers; a product needs all rows of its vector in memory first.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_BODYPLAN_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_BODYPLAN_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace bppsa {

/// A sum accumulated in registers: `result = products[0] + products[1] + ... + addend`; `addend`
/// may be null.
struct ProductSum {
  mlir::Value result;
  llvm::SmallVector<MatVecOp> products;
  mlir::Value addend;
};

struct RowUnit {
  int64_t stage;
  int64_t rows;
  /// Sums accumulated before the elementwise part of each row.
  llvm::SmallVector<ProductSum> sums;
  llvm::SmallVector<mlir::Value> stored;
};

class BodyPlan {
public:
  /// The last `numCaptures` arguments are captures. Fails with a diagnostic if an operation is not
  /// row-wise.
  static llvm::FailureOr<BodyPlan> create(mlir::Block &body, unsigned numCaptures);

  llvm::ArrayRef<RowUnit> getUnits() const { return units; }
  /// Captures are arrays without lanes.
  bool isCapture(mlir::Value value) const;
  bool isLoadedAt(mlir::Value value, const RowUnit &unit) const;
  /// True if no later unit and no other row reads `argument`.
  bool canOverwrite(unsigned argument, unsigned result) const;

private:
  mlir::LogicalResult computeStages();
  mlir::LogicalResult computeStage(mlir::Operation *op);
  void collectMemoryValues();
  void buildUnits();
  RowUnit &getUnit(int64_t stage, int64_t rows);
  void addStored(mlir::Value value);
  void addNeeded(mlir::Value value, RowUnit &unit, llvm::DenseSet<mlir::Value> &seen);
  /// First stage in which a row of `value` is available.
  int64_t getStage(mlir::Value value) const;
  /// Stage after which all rows of `value` are in memory.
  int64_t getMemoryStage(mlir::Value value) const;
  bool isLazy(mlir::Value value) const { return lazy.contains(value); }
  bool isInMemoryAtEntry(mlir::Value value) const;

  mlir::Block *body = nullptr;
  unsigned firstCapture = 0;
  llvm::DenseMap<mlir::Value, int64_t> stages;
  /// Values of which an operation reads all rows.
  llvm::SetVector<mlir::Value> inMemory;
  /// Cheap values that every user recomputes.
  llvm::DenseSet<mlir::Value> lazy;
  llvm::DenseSet<mlir::Value> fused;
  llvm::SmallVector<RowUnit> units;
};

int64_t getNumRows(mlir::Value value);

/// Returns the bytes of the matrices of one step.
int64_t getMatrixBytes(mlir::Region &body);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_BODYPLAN_H
