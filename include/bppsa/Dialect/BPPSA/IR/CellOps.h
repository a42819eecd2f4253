//===- CellOps.h - what ops of a cell are -----------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The vocabulary of `CellOpInterface`, and what follows from it for every op.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_CELLOPS_H
#define BPPSA_DIALECT_BPPSA_IR_CELLOPS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace bppsa {

/// The work of one row of a result, cheapest first.
enum class CellWork {
  /// Moves data, or is a constant.
  Move,
  /// One instruction.
  Simple,
  Division,
  /// A transcendental function, or another one that takes many instructions.
  Special,
  /// A product with a matrix: as many multiply-adds as the operand has rows.
  Product,
};

/// The rows of an operand that row n of a result needs.
enum class RowAccess {
  /// Row n.
  Same,
  /// At most one row, which may be another one.
  Other,
  /// All rows.
  All,
  /// The operand is a matrix that samples share; it has no rows of a sample.
  Matrix,
};

/// The derivative of a row of an elementwise result with respect to a row of an operand.
enum class CellSlope {
  Zero,
  One,
  MinusOne,
  /// A number that no operand changes.
  Constant,
  /// A function of the other operands, which `scaleBySlope` builds.
  ByOthers,
  /// One or zero, as operand 0 says, which `scaleBySlope` builds.
  ByCondition,
  /// Anything else: the result is not linear in the operand.
  Opaque,
};

/// How a lowering reads operands while it emits one row of a result.
struct RowReader {
  /// The number of the row, an index.
  mlir::Value row;
  /// Whether vectors hold elements of consecutive rows, `row` the first, rather than one row of
  /// several samples.
  bool spansRows = false;
  /// The same row of an operand.
  llvm::function_ref<mlir::Value(mlir::Value operand)> same;
  /// Row `row` of an operand that has `RowAccess::Other`.
  llvm::function_ref<mlir::Value(mlir::Value operand, mlir::Value row)> other;
};

/// Clones elementwise `op` on rows of `type`.
mlir::Value cloneForRow(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Type type,
                        const RowReader &rows);

/// Instructions of a row of work that is no product, for models of costs.
int64_t getRowInstructions(CellWork work);

/// What the methods of `CellOpInterface` of the same names say of `op`, which has that interface.
bool isRowWise(mlir::Operation *op);
int64_t countFlops(mlir::Operation *op);

/// Attaches the models of ops of arith, math and vector, which must be loaded.
void attachCellOpModels(mlir::MLIRContext *context);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_CELLOPS_H
