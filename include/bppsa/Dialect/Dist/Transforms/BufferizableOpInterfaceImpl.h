//===- BufferizableOpInterfaceImpl.h - bufferization models -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_DIST_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define BPPSA_DIALECT_DIST_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

#include "mlir/IR/DialectRegistry.h"

namespace bppsa::dist {

/// Registers the one-shot bufferization models of dist operations, which allocate results.
void registerBufferizableOpInterfaceExternalModels(mlir::DialectRegistry &registry);

} // namespace bppsa::dist

#endif // BPPSA_DIALECT_DIST_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
