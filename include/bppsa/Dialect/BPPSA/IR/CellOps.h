//===- CellOps.h - properties of operations in cells ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Types used by `CellOpInterface`, and helpers derived from the interface.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_CELLOPS_H
#define BPPSA_DIALECT_BPPSA_IR_CELLOPS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace bppsa {

/// Work for one row of a result, cheapest first.
enum class CellWork {
  /// Data movement or a constant.
  Move,
  Simple,
  Division,
  /// Transcendental or another operation of many instructions.
  Special,
  /// One multiply-add per row of the operand.
  Product,
};

/// Rows of an operand that row n of a result reads.
enum class RowAccess {
  Same,
  /// A single row, possibly not n.
  Other,
  All,
  /// A matrix shared by all samples.
  Matrix,
};

/// Derivative of an elementwise result with respect to an operand.
enum class CellSlope {
  Zero,
  One,
  MinusOne,
  /// Independent of all operands.
  Constant,
  /// A function of the other operands (`scaleBySlope`).
  ByOthers,
  /// One or zero depending on operand 0 (`scaleBySlope`).
  ByCondition,
  /// The result is not linear in the operand.
  Opaque,
};

struct RowReader {
  mlir::Value row;
  /// True if vectors hold consecutive rows from `row` on instead of one row of several samples.
  bool spansRows = false;
  llvm::function_ref<mlir::Value(mlir::Value operand)> same;
  /// Returns row `row` of a `RowAccess::Other` operand.
  llvm::function_ref<mlir::Value(mlir::Value operand, mlir::Value row)> other;
};

mlir::Value cloneForRow(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Type type,
                        const RowReader &rows);

/// Estimates the instructions for one row of work other than products.
int64_t getRowInstructions(CellWork work);

/// Implement `CellOpInterface` methods for `op`, which must have the interface.
bool isRowWise(mlir::Operation *op);
int64_t countFlops(mlir::Operation *op);

/// Attaches interface models to arith, math and vector operations. These dialects must be loaded.
void attachCellOpModels(mlir::MLIRContext *context);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_CELLOPS_H
