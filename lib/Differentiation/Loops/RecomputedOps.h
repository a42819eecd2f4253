//===- RecomputedOps.h - ops that a link recomputes -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_LOOPS_RECOMPUTEDOPS_H
#define BPPSA_LIB_DIFFERENTIATION_LOOPS_RECOMPUTEDOPS_H

#include "mlir/IR/Operation.h"

namespace bppsa {

/// Returns whether the link of a chain in graph form recomputes `op` instead of loading its saved
/// result.
bool isRecomputed(mlir::Operation *op);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_LOOPS_RECOMPUTEDOPS_H
