//===- BufferizableOpInterfaceImpl.h - bufferization models -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define BPPSA_DIALECT_JACOBIAN_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

#include "mlir/IR/DialectRegistry.h"

namespace bppsa::jacobian {

/// Registers the one-shot bufferization models of jacobian operations, which allocate results.
void registerBufferizableOpInterfaceExternalModels(mlir::DialectRegistry &registry);

} // namespace bppsa::jacobian

#endif // BPPSA_DIALECT_JACOBIAN_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
