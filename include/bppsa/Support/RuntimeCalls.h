//===- RuntimeCalls.h - calls to the run-time library -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_RUNTIMECALLS_H
#define BPPSA_SUPPORT_RUNTIMECALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace bppsa {

/// Returns the declaration of `name`; adds it at the start of `module` if necessary.
mlir::func::FuncOp declareRuntimeFunction(mlir::ModuleOp module, llvm::StringRef name,
                                          mlir::TypeRange inputs, mlir::TypeRange results);

/// Emits a call to the run-time function `name` and declares it in `module`.
mlir::func::CallOp emitRuntimeCall(mlir::OpBuilder &builder, mlir::Location loc,
                                   mlir::ModuleOp module, llvm::StringRef name,
                                   mlir::ValueRange arguments, mlir::TypeRange results = {});

/// Emits a query of the run time for the number of items per task, out of `count` items: `most`, or
/// repeated halves of it down to 1 (ObjectInterface.h).
mlir::Value emitTaskSize(mlir::OpBuilder &builder, mlir::Location loc, mlir::ModuleOp module,
                         mlir::Value count, int64_t most);

} // namespace bppsa

#endif // BPPSA_SUPPORT_RUNTIMECALLS_H
