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

/// Adds the declaration if necessary.
mlir::func::FuncOp declareRuntimeFunction(mlir::ModuleOp module, llvm::StringRef name,
                                          mlir::TypeRange inputs, mlir::TypeRange results);

mlir::func::CallOp emitRuntimeCall(mlir::OpBuilder &builder, mlir::Location loc,
                                   mlir::ModuleOp module, llvm::StringRef name,
                                   mlir::ValueRange arguments, mlir::TypeRange results = {});

/// Queries the items per task, out of `count`: `most`, or repeated halves down to 1
/// (ObjectInterface.h).
mlir::Value emitTaskSize(mlir::OpBuilder &builder, mlir::Location loc, mlir::ModuleOp module,
                         mlir::Value count, int64_t most);

} // namespace bppsa

#endif // BPPSA_SUPPORT_RUNTIMECALLS_H
