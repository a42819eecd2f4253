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

/// B sequences of different lengths, joined end to end in R <= B rows of S slots. Each row runs in
/// a lane.
struct SequenceSchedule {
  mlir::Value slots;
  /// Constant if B is a constant that fits in one block.
  mlir::OpFoldResult rows;
  /// For each sequence, its length from 0 to T, its row and its first slot: `tensor<?xindex>`.
  mlir::Value length, row, start;
  /// For each slot of each row, its sequence and step, or -1 if unused: `tensor<?x?xindex>`, [S,
  /// R].
  mlir::Value sequence, step;
};

/// Emits a schedule for `lengths`, `tensor<?xi32>` or `tensor<?xi64>`, of sequences of at most
/// `steps` steps (`index`).
///
/// Rows run in blocks of as many rows as a vector has lanes, so the cost is S times the number of
/// blocks. The number of rows minimizes this cost assuming evenly filled rows; of equal choices,
/// the largest provides most parallelism. Sequences are assigned in order of decreasing length,
/// each to the row with the fewest used slots (Graham: Bounds on multiprocessing timing anomalies,
/// 1969: at most 4/3 of the optimal S).
SequenceSchedule buildSequenceSchedule(mlir::OpBuilder &builder, mlir::Location loc,
                                       mlir::Value lengths, mlir::Value steps);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_SEQUENCESCHEDULE_H
