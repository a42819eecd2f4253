//===- BPPSADirection.h - directions of time --------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSADIRECTION_H
#define BPPSA_DIALECT_BPPSA_IR_BPPSADIRECTION_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

#define GET_OP_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSADirectionOps.h.inc"

namespace bppsa {

/// The time loops under `root` that have a direction.
llvm::SmallVector<mlir::Operation *> findDirectedLoops(mlir::Operation *root);

/// Whether `loop`, one of these, has the attribute `reverse`.
bool isReverse(mlir::Operation *loop);
void setReverse(mlir::Operation *loop, bool reverse);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSADIRECTION_H
