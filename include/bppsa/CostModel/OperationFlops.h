//===- OperationFlops.h - the work of an operation --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_OPERATIONFLOPS_H
#define BPPSA_COSTMODEL_OPERATIONFLOPS_H

#include "mlir/IR/Operation.h"

namespace bppsa {

/// Floating-point operations of `op`, on tensors or memory, in a training step without explicit
/// Jacobians; a multiply-add counts as two. Sizes that only the run time knows count as `unknown`.
double countStepFlops(mlir::Operation *op, double unknown = 1);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_OPERATIONFLOPS_H
