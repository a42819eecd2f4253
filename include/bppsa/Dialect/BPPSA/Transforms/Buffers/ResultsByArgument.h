//===- ResultsByArgument.h - results in the caller's memory -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESULTSBYARGUMENT_H
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESULTSBYARGUMENT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// Converts tensor results to trailing memref arguments, with their attributes. Fails with a
/// diagnostic for several blocks or unranked results.
llvm::LogicalResult passResultsByArgument(mlir::func::FuncOp function);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_RESULTSBYARGUMENT_H
