//===- OperationFlops.h - FLOPs of an operation -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_OPERATIONFLOPS_H
#define BPPSA_COSTMODEL_OPERATIONFLOPS_H

#include "mlir/IR/Operation.h"

namespace bppsa {

/// Returns the FLOPs of `op`, on tensors or memrefs, in a training step without explicit Jacobians;
/// a multiply-add counts as two. Dynamic sizes count as `unknown`.
double countStepFlops(mlir::Operation *op, double unknown = 1);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_OPERATIONFLOPS_H
