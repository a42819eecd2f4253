//===- PhaseCalls.h - phase marks to run-time calls -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BODIES_PHASECALLS_H
#define BPPSA_LIB_CONVERSION_BODIES_PHASECALLS_H

#include "mlir/IR/BuiltinOps.h"

namespace bppsa {

/// Lowers every `bppsa.mark_phase` to a call of `bppsa_rt_phase`.
void lowerPhaseMarks(mlir::ModuleOp module);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BODIES_PHASECALLS_H
