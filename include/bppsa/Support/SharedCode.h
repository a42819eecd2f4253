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

/// Emits a call to a private function of `module` with the body emitted by `emitBody`. The body
/// must be determined by `name` and the types of `arguments`, because calls with equal names and
/// types share one function. `emitBody` must not use other values.
void emitSharedCall(
    mlir::OpBuilder &builder, mlir::ModuleOp module, mlir::Location loc, llvm::StringRef name,
    mlir::ValueRange arguments,
    llvm::function_ref<void(mlir::OpBuilder &, mlir::ValueRange arguments)> emitBody);

} // namespace bppsa

#endif // BPPSA_SUPPORT_SHAREDCODE_H
