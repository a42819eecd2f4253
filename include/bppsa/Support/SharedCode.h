//===- SharedCode.h - code that several places of a module call -*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_SHAREDCODE_H
#define BPPSA_SUPPORT_SHAREDCODE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace bppsa {

/// Emits a call of a private function of `module` that does with its arguments what `emitBody`
/// emits, which `name` and the types of `arguments` must determine: functions of one name and type
/// are one. `emitBody` must use no other values.
void emitSharedCall(
    mlir::OpBuilder &builder, mlir::ModuleOp module, mlir::Location loc, llvm::StringRef name,
    mlir::ValueRange arguments,
    llvm::function_ref<void(mlir::OpBuilder &, mlir::ValueRange arguments)> emitBody);

} // namespace bppsa

#endif // BPPSA_SUPPORT_SHAREDCODE_H
