//===- TransientStates.h - states whose final value is read -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A loop in graph form returns the trajectory of each state. If only the last slot is read, storing
// one slot is enough. For example, a buffer that a loop fills row by row then takes memory for one
// step instead of all steps.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_TRANSIENTSTATES_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_TRANSIENTSTATES_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {

/// Returns true if `slice`, a slice of a trajectory of `loop`, reads the slot after the last step.
bool readsFinalState(mlir::tensor::ExtractSliceOp slice, RecurrenceOp loop);

/// Returns true if only sizes and the slot after the last step of the trajectory of `state` are
/// read.
bool isTransient(RecurrenceOp loop, unsigned state);

/// Replaces reads of the last slot of `trajectory` with reads of `state`, `[B, d...]`.
void replaceFinalReads(mlir::Value trajectory, mlir::Value state);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_TRANSIENTSTATES_H
