//===- ResultsByArgument.h - results in the caller's memory -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESULTSBYARGUMENT_H
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESULTSBYARGUMENT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// Turns the tensor results of `function` into memref arguments, behind the others, that are
/// written before it returns; their attributes become those of the arguments. Does nothing to a
/// function without results or body. Fails, after an error, where it has several blocks or a
/// result is no ranked tensor.
llvm::LogicalResult passResultsByArgument(mlir::func::FuncOp function);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESULTSBYARGUMENT_H
