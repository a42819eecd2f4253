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

/// The work to compute one row of a result, cheapest first.
enum class CellWork {
  /// Moves data or is a constant.
  Move,
  /// One instruction.
  Simple,
  Division,
  /// A transcendental function or another operation of many instructions.
  Special,
  /// A product with a matrix: one multiply-add for each row of the operand.
  Product,
};

/// The rows of an operand that row n of a result reads.
enum class RowAccess {
  /// Row n.
  Same,
  /// A single row, possibly another than n.
  Other,
  /// All rows.
  All,
  /// The operand is a matrix shared by all samples, without rows per sample.
  Matrix,
};

/// The derivative of a row of an elementwise result with respect to a row of an operand.
enum class CellSlope {
  Zero,
  One,
  MinusOne,
  /// A constant that does not depend on any operand.
  Constant,
  /// A function of the other operands, built by `scaleBySlope`.
  ByOthers,
  /// One or zero depending on operand 0, built by `scaleBySlope`.
  ByCondition,
  /// Any other derivative. The result is not linear in the operand.
  Opaque,
};

/// Reads operands while a lowering emits one row of a result.
struct RowReader {
  /// Index of the row.
  mlir::Value row;
  /// True if vectors hold consecutive rows beginning at `row`. Otherwise they hold one row of
  /// several samples.
  bool spansRows = false;
  /// Returns the same row of an operand.
  llvm::function_ref<mlir::Value(mlir::Value operand)> same;
  /// Returns row `row` of an operand with `RowAccess::Other`.
  llvm::function_ref<mlir::Value(mlir::Value operand, mlir::Value row)> other;
};

/// Clones the elementwise operation `op` for rows of type `type`.
mlir::Value cloneForRow(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Type type,
                        const RowReader &rows);

/// Returns the estimated number of instructions for one row of work other than products. Used by
/// cost models.
int64_t getRowInstructions(CellWork work);

/// Implement the `CellOpInterface` methods of the same name for `op`, which must have the
/// interface.
bool isRowWise(mlir::Operation *op);
int64_t countFlops(mlir::Operation *op);

/// Attaches interface models to operations of arith, math and vector. These dialects must be
/// loaded.
void attachCellOpModels(mlir::MLIRContext *context);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_CELLOPS_H
