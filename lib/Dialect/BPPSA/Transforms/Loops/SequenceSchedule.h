//===- SequenceSchedule.h - schedules sequences in rows ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_SEQUENCESCHEDULE_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_SEQUENCESCHEDULE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace bppsa {

/// B sequences joined end to end in R <= B rows of S slots; rows run in lanes.
struct SequenceSchedule {
  mlir::Value slots;
  /// Constant if B is a constant that fits in one block.
  mlir::OpFoldResult rows;
  /// For each sequence, length (0 to T), row and first slot: `tensor<?xindex>`.
  mlir::Value length, row, start;
  /// For each slot, sequence and step, or -1: `tensor<?x?xindex>`, [S, R].
  mlir::Value sequence, step;
};

/// Emits a schedule for `lengths` (`tensor<?xi32>` or `tensor<?xi64>`) of at most `steps`.
/// Minimizes S times the blocks of rows, assuming evenly filled rows; ties take more rows. Assigns
/// the longest sequences first, each to the emptiest row (Graham 1969: at most 4/3 of the optimal
/// S).
SequenceSchedule buildSequenceSchedule(mlir::OpBuilder &builder, mlir::Location loc,
                                       mlir::Value lengths, mlir::Value steps);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_SEQUENCESCHEDULE_H
