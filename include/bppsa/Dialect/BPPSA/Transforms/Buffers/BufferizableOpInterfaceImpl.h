//===- BufferizableOpInterfaceImpl.h - bufferization models -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_BUFFERIZABLEOPINTERFACEIMPL_H
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_BUFFERIZABLEOPINTERFACEIMPL_H

#include "mlir/IR/DialectRegistry.h"

namespace bppsa {

/// Registers the one-shot bufferization models of bppsa operations, which allocate results.
void registerBufferizableOpInterfaceExternalModels(mlir::DialectRegistry &registry);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_BUFFERIZABLEOPINTERFACEIMPL_H
