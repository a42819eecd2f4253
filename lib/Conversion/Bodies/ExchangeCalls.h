//===- ExchangeCalls.h - exchanges of gradients by the run time -*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BODIES_EXCHANGECALLS_H
#define BPPSA_LIB_CONVERSION_BODIES_EXCHANGECALLS_H

#include "mlir/IR/BuiltinOps.h"

namespace bppsa {

/// Turns every `bppsa.await_parameter` and `bppsa.signal_gradient` into a call of
/// `bppsa_rt_await_parameter` or `bppsa_rt_signal_gradient` with the address of the array.
void lowerExchangeCalls(mlir::ModuleOp module);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BODIES_EXCHANGECALLS_H
