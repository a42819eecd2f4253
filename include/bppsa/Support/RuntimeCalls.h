//===- RuntimeCalls.h - calls of what the run time defines ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_RUNTIMECALLS_H
#define BPPSA_SUPPORT_RUNTIMECALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace bppsa {

/// The declaration of `name` in `module`, at its start where there was none.
mlir::func::FuncOp declareRuntimeFunction(mlir::ModuleOp module, llvm::StringRef name,
                                          mlir::TypeRange inputs, mlir::TypeRange results);

/// Emits a call of the function `name` of the run time, which it declares in `module`.
mlir::func::CallOp emitRuntimeCall(mlir::OpBuilder &builder, mlir::Location loc,
                                   mlir::ModuleOp module, llvm::StringRef name,
                                   mlir::ValueRange arguments, mlir::TypeRange results = {});

/// How many of `count` things a task takes, `most` or halves of that down to one: what the run time
/// says (ObjectInterface.h).
mlir::Value emitTaskSize(mlir::OpBuilder &builder, mlir::Location loc, mlir::ModuleOp module,
                         mlir::Value count, int64_t most);

} // namespace bppsa

#endif // BPPSA_SUPPORT_RUNTIMECALLS_H
