//===- LinkSteps.h - steps of loops over links ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_GPU_LINKSTEPS_H
#define BPPSA_LIB_CODEGEN_GPU_LINKSTEPS_H

#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"

namespace bppsa {

mlir::Value countSteps(mlir::OpBuilder &builder, const CotangentLoop &loop);
mlir::Value countSamples(mlir::OpBuilder &builder, const CotangentLoop &loop);
/// Returns the step at position `position` of a loop: T-1-position, or `position` if `reverse`.
mlir::Value getStep(mlir::OpBuilder &builder, const CotangentLoop &loop, mlir::Value position);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_GPU_LINKSTEPS_H
