//===- JacobianChains.h - chains of Jacobians in archives -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A chain of transposed Jacobians as arrays in compressed sparse rows. Link k, counted
// from 1 in the order of cotangents, is `link_k.shape` (rows, columns),
// `link_k.indptr`, `link_k.indices`, and `link_k.data`: `[nonzeros]` where all samples
// share it, `[B, nonzeros]` otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_REFERENCE_JACOBIANCHAINS_H
#define BPPSA_REFERENCE_JACOBIANCHAINS_H

#include "bppsa/Reference/Interpreter.h"
#include "mlir/IR/OwningOpRef.h"

namespace bppsa {

/// The possible nonzeros of the Jacobians that `jacobian.assemble` made in `function`, which
/// `interpreter` has called.
NamedArrays getJacobianChain(mlir::Operation *function, const Interpreter &interpreter);

/// A module with a function @chain that takes the Jacobians of `arrays` and a seed and applies one
/// after the other; nobody reads what leaves the last one. With `dropZeros` entries that are zero
/// for every sample are left out of patterns. Null, with the reason in `error`, where `arrays` are
/// no such chain.
mlir::OwningOpRef<mlir::ModuleOp> makeJacobianChain(mlir::MLIRContext *context,
                                                    const NamedArrays &arrays, bool dropZeros,
                                                    std::string &error);

} // namespace bppsa

#endif // BPPSA_REFERENCE_JACOBIANCHAINS_H
