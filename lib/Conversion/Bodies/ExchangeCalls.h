//===- ExchangeCalls.h - rank exchanges to run-time calls -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BODIES_EXCHANGECALLS_H
#define BPPSA_LIB_CONVERSION_BODIES_EXCHANGECALLS_H

#include "mlir/IR/BuiltinOps.h"

namespace bppsa {

/// Replaces exchanges between ranks by calls of run-time functions (`ObjectInterface.h`). Fails if
/// an operation is not bufferized.
mlir::LogicalResult lowerExchangeCalls(mlir::ModuleOp module);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BODIES_EXCHANGECALLS_H
