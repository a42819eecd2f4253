//===- ProgramParts.h - split programs for code generation ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TARGET_PROGRAMPARTS_H
#define BPPSA_TARGET_PROGRAMPARTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>

namespace bppsa {

/// A program split into host functions, compiled once, and kernels, compiled once per instruction
/// set.
struct ProgramParts {
  /// The public functions, which allocate memory and call kernels by name.
  mlir::OwningOpRef<mlir::ModuleOp> host;
  /// The kernels in groups of about the same size.
  llvm::SmallVector<mlir::OwningOpRef<mlir::ModuleOp>> groups;
  /// The names of all kernels, in the order of the program's kernel table.
  llvm::SmallVector<std::string> kernels;
};

/// Splits `module` after `bppsa-outline-kernels` into host functions and groups of kernels.
ProgramParts splitProgram(mlir::ModuleOp module);

/// Moves the kernels of `module`, in the form after `bppsa-gpu-kernel-pipeline` (kernels are in a
/// `gpu.module`), to at most `maxGroups` modules of about the same size.
llvm::SmallVector<mlir::OwningOpRef<mlir::ModuleOp>> splitDevice(mlir::ModuleOp module,
                                                                 unsigned maxGroups);

} // namespace bppsa

#endif // BPPSA_TARGET_PROGRAMPARTS_H
