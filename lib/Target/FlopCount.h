//===- FlopCount.h - FLOPs of a training step -------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_TARGET_FLOPCOUNT_H
#define BPPSA_LIB_TARGET_FLOPCOUNT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// Returns the FLOPs of the training function `step`, on tensors, for one sample; a multiply-add
/// counts as two. If `step` has loops over time, counts one time step of these loops and their
/// sums; otherwise counts all graph operations and products of Jacobians.
int64_t countFlopsPerPosition(mlir::func::FuncOp step);

} // namespace bppsa

#endif // BPPSA_LIB_TARGET_FLOPCOUNT_H
