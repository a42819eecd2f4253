//===- InitAll.h - register dialects and passes -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_INITALL_H
#define BPPSA_INITALL_H

#include "mlir/IR/DialectRegistry.h"

namespace bppsa {

/// Registers every dialect, extension and external model that the project's tools read, transform
/// or translate.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers the subset that compilations use, with the interfaces that their passes need.
void registerCompilerDialects(mlir::DialectRegistry &registry);

/// Registers the upstream and the project's passes.
void registerAllPasses();

} // namespace bppsa

#endif // BPPSA_INITALL_H
