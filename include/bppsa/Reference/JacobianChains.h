//===- JacobianChains.h - chains of Jacobians in archives -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A chain of transposed Jacobians as CSR arrays. Link k, from 1 in the order of the cotangents, has
// `link_k.shape` (rows, columns), `link_k.indptr`, `link_k.indices` and `link_k.data`, of shape
// `[nonzeros]` if shared by all samples, otherwise `[B, nonzeros]`.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_REFERENCE_JACOBIANCHAINS_H
#define BPPSA_REFERENCE_JACOBIANCHAINS_H

#include "bppsa/Reference/Interpreter.h"
#include "mlir/IR/OwningOpRef.h"

namespace bppsa {

/// Returns the results of `jacobian.assemble` after `interpreter` has called `function`.
NamedArrays getJacobianChain(mlir::Operation *function, const Interpreter &interpreter);

/// Creates a function @chain that applies the Jacobians to a seed in order. `dropZeros` removes
/// entries that are zero for every sample. Returns null and sets `error` for an invalid chain.
mlir::OwningOpRef<mlir::ModuleOp> makeJacobianChain(mlir::MLIRContext *context,
                                                    const NamedArrays &arrays, bool dropZeros,
                                                    std::string &error);

} // namespace bppsa

#endif // BPPSA_REFERENCE_JACOBIANCHAINS_H
