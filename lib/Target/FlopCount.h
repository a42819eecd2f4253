//===- FlopCount.h - work of a training step --------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_TARGET_FLOPCOUNT_H
#define BPPSA_LIB_TARGET_FLOPCOUNT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// Floating-point operations that the training function `step`, on tensors, spends on one sample;
/// a multiply-add counts as two. With loops over time they are those of one step in these loops and
/// their sums, otherwise those of all graph operations and products of Jacobians.
int64_t countFlopsPerPosition(mlir::func::FuncOp step);

} // namespace bppsa

#endif // BPPSA_LIB_TARGET_FLOPCOUNT_H
