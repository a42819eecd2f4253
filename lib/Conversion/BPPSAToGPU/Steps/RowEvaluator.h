//===- RowEvaluator.h - evaluates single rows of a body ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_ROWEVALUATOR_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_ROWEVALUATOR_H

#include "../../GPULaunches/Launch.h"
#include "../../GPULaunches/Place.h"
#include "bppsa/Dialect/BPPSA/Analysis/BodyPlan.h"

namespace bppsa {

/// What threads that evaluate the units of a BodyPlan, each a row of its own, have in
/// common: everything but products, and where values lie.
class RowEvaluator {
public:
  virtual ~RowEvaluator() = default;

protected:
  using RowValues = llvm::DenseMap<mlir::Value, mlir::Value>;

  RowEvaluator(BodyPlan plan, mlir::Block &body, mlir::ValueRange captures);

  /// A row of `value`, not a capture, that was stored before: that of this thread.
  virtual mlir::Value loadRow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                              mlir::Value row) = 0;
  /// The same, the row of any thread.
  virtual mlir::Value loadOtherRow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                                   mlir::Value row) = 0;

  /// Loads row `unitIndex` of captured vectors, before the first step.
  void loadCapturedRows(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value unitIndex);
  mlir::Value loadMatrixEntry(mlir::OpBuilder &builder, mlir::Location loc, MatVecOp product,
                              mlir::Value row, mlir::Value column);
  /// Row `row` of `value`; `values` has those that are known, and gets this one.
  mlir::Value getRow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                     const RowUnit &unit, mlir::Value row, RowValues &values);
  /// The same for a value that `unit` stores.
  mlir::Value getStoredRow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                           const RowUnit &unit, mlir::Value row, RowValues &values);

  BodyPlan plan;
  mlir::Block *body;
  unsigned firstCapture;
  llvm::SmallVector<mlir::Value> captures;

private:
  /// The same for a value that is computed.
  mlir::Value emitRow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                      const RowUnit &unit, mlir::Value row, RowValues &values);

  /// The element of each captured vector that a unit of so many rows reads.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> capturedRows;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_ROWEVALUATOR_H
