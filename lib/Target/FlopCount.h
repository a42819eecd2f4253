//===- FlopCount.h - FLOPs of a training step -------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_TARGET_FLOPCOUNT_H
#define BPPSA_LIB_TARGET_FLOPCOUNT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// Returns the FLOPs of `step` for one sample and, if it has loops over time, one time step; a
/// multiply-add counts as two.
int64_t countFlopsPerPosition(mlir::func::FuncOp step);

} // namespace bppsa

#endif // BPPSA_LIB_TARGET_FLOPCOUNT_H
