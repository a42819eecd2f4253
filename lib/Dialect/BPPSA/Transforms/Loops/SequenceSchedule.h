//===- SequenceSchedule.h - where sequences lie in rows ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_SEQUENCESCHEDULE_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_SEQUENCESCHEDULE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace bppsa {

/// B sequences of unlike lengths laid end to end in R rows of S slots, R <= B. A row runs in a
/// lane.
struct SequenceSchedule {
  mlir::Value slots;
  /// A constant where B is one that fits one block.
  mlir::OpFoldResult rows;
  /// For each sequence its length, from 0 to T, its row and its first slot: `tensor<?xindex>`.
  mlir::Value length, row, start;
  /// For each slot of each row the sequence that lies there and its step, -1 where none does:
  /// `tensor<?x?xindex>`, [S, R].
  mlir::Value sequence, step;
};

/// Builds operations that make a schedule of `lengths`, `tensor<?xi32>` or `tensor<?xi64>`, of
/// sequences of at most `steps` steps (`index`).
///
/// Rows are computed in blocks of as many as a vector has lanes, so S times the number of blocks is
/// the cost. The number of rows is the one with the least of it, if rows were filled evenly, and
/// the largest of these, which are shared by more threads. The longest sequences are laid first,
/// each in the row that has the fewest slots taken (Graham: Bounds on multiprocessing timing
/// anomalies, 1969: at most 4/3 of the shortest S).
SequenceSchedule buildSequenceSchedule(mlir::OpBuilder &builder, mlir::Location loc,
                                       mlir::Value lengths, mlir::Value steps);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_SEQUENCESCHEDULE_H
