//===- InitAll.h - dialects, interfaces and passes of the project -*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_INITALL_H
#define BPPSA_INITALL_H

#include "mlir/IR/DialectRegistry.h"

namespace bppsa {

/// Registers every dialect, extension and external model that the project's
/// tools read, transform or translate.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers those that compilations use, with the interfaces that their passes ask for.
void registerCompilerDialects(mlir::DialectRegistry &registry);

/// Registers the upstream passes and those of the project.
void registerAllPasses();

} // namespace bppsa

#endif // BPPSA_INITALL_H
