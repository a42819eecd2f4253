//===- TransientStates.h - states whose final value is read -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// If only the last slot of a trajectory is read, one slot is stored.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_TRANSIENTSTATES_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_TRANSIENTSTATES_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {

bool readsFinalState(mlir::tensor::ExtractSliceOp slice, RecurrenceOp loop);

/// True if only sizes and the final slot are read.
bool isTransient(RecurrenceOp loop, unsigned state);

/// `state` is `[B, d...]`.
void replaceFinalReads(mlir::Value trajectory, mlir::Value state);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_TRANSIENTSTATES_H
