//===- SharedCode.h - code shared within a module ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_SHAREDCODE_H
#define BPPSA_SUPPORT_SHAREDCODE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace bppsa {

/// Calls a private function with the body from `emitBody`. Calls with equal names and argument
/// types share it, so these must determine the body.
void emitSharedCall(
    mlir::OpBuilder &builder, mlir::ModuleOp module, mlir::Location loc, llvm::StringRef name,
    mlir::ValueRange arguments,
    llvm::function_ref<void(mlir::OpBuilder &, mlir::ValueRange arguments)> emitBody);

} // namespace bppsa

#endif // BPPSA_SUPPORT_SHAREDCODE_H
