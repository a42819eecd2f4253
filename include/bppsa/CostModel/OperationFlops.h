//===- OperationFlops.h - FLOPs of an operation -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_OPERATIONFLOPS_H
#define BPPSA_COSTMODEL_OPERATIONFLOPS_H

#include "mlir/IR/Operation.h"

namespace bppsa {

/// Returns the FLOPs of `op` in a training step; a multiply-add counts as two, a dynamic size as
/// `unknown`.
double countStepFlops(mlir::Operation *op, double unknown = 1);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_OPERATIONFLOPS_H
