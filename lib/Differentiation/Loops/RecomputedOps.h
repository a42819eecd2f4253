//===- RecomputedOps.h - ops that a link recomputes -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_LOOPS_RECOMPUTEDOPS_H
#define BPPSA_LIB_DIFFERENTIATION_LOOPS_RECOMPUTEDOPS_H

#include "mlir/IR/Operation.h"

namespace bppsa {

/// Whether the link of a chain in graph form recomputes `op` instead of reading its saved result.
bool isRecomputed(mlir::Operation *op);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_LOOPS_RECOMPUTEDOPS_H
