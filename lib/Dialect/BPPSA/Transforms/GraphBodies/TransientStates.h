//===- TransientStates.h - states of which the last is read -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A loop over a graph leaves the trajectory of each state. If only its last slot is read, one slot
// is enough: a buffer that a loop fills row by row, read at computed places, takes memory for one
// step instead of all.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_TRANSIENTSTATES_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_TRANSIENTSTATES_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {

/// Whether `slice`, which reads a trajectory of `loop`, reads the slot after the last step.
bool readsFinalState(mlir::tensor::ExtractSliceOp slice, RecurrenceOp loop);

/// Whether only sizes and the slot after the last step are read from the trajectory of `state`.
bool isTransient(RecurrenceOp loop, unsigned state);

/// Makes the reads of the last slot of `trajectory` read `state`, `[B, d...]`, instead.
void replaceFinalReads(mlir::Value trajectory, mlir::Value state);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_TRANSIENTSTATES_H
