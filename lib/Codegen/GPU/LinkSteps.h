//===- LinkSteps.h - the steps of loops over links --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_GPU_LINKSTEPS_H
#define BPPSA_LIB_CODEGEN_GPU_LINKSTEPS_H

#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"

namespace bppsa {

/// Steps and samples of a loop.
mlir::Value countSteps(mlir::OpBuilder &builder, const CotangentLoop &loop);
mlir::Value countSamples(mlir::OpBuilder &builder, const CotangentLoop &loop);
/// The step at position `position` of a loop: T-1-position, or `position` with
/// `reverse`.
mlir::Value getStep(mlir::OpBuilder &builder, const CotangentLoop &loop, mlir::Value position);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_GPU_LINKSTEPS_H
