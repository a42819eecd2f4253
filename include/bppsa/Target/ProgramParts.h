//===- ProgramParts.h - a program cut for code generation -------*- C++ -*-===//
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

/// A program cut at its kernels. Code for the host functions is generated once,
/// code for the kernels once for each instruction set; parts are independent of
/// one another, so that they can be lowered in parallel.
struct ProgramParts {
  /// The public functions, which allocate memory and call kernels by their names.
  mlir::OwningOpRef<mlir::ModuleOp> host;
  /// The kernels in groups of about the same size; in each group they are public.
  llvm::SmallVector<mlir::OwningOpRef<mlir::ModuleOp>> groups;
  /// All kernels. Their order is that of the program's kernel table.
  llvm::SmallVector<std::string> kernels;
};

/// Cuts `module`, whose private functions with bodies are kernels (the form that
/// `bppsa-outline-kernels` leaves), into host functions and groups of kernels, more of
/// them the more operations there are.
ProgramParts splitProgram(mlir::ModuleOp module);

/// Moves the kernels out of `module`, where they are in a `gpu.module` (the form that
/// `bppsa-gpu-kernel-pipeline` leaves), to at most `maxGroups` modules of about the same size. Each
/// has a `gpu.module` of the same name with some kernels and all that these refer to.
llvm::SmallVector<mlir::OwningOpRef<mlir::ModuleOp>> splitDevice(mlir::ModuleOp module,
                                                                 unsigned maxGroups);

} // namespace bppsa

#endif // BPPSA_TARGET_PROGRAMPARTS_H
