//===- ResultsByArgument.h - results in the caller's memory -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESULTSBYARGUMENT_H
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESULTSBYARGUMENT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// Converts the tensor results of `function` to trailing memref arguments, which are written before
/// the function returns. The result attributes become argument attributes. Does nothing to a
/// function without results or body. Fails with a diagnostic if the function has several blocks or
/// a result is not a ranked tensor.
llvm::LogicalResult passResultsByArgument(mlir::func::FuncOp function);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESULTSBYARGUMENT_H
