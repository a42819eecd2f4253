//===- JacobianChains.h - chains of Jacobians in archives -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A chain of transposed Jacobians stored as arrays in compressed sparse row format. Link k, counted
// from 1 in the order of the cotangents, consists of `link_k.shape` (rows, columns),
// `link_k.indptr`, `link_k.indices` and `link_k.data`. The shape of the data is `[nonzeros]` if all
// samples share it and `[B, nonzeros]` otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_REFERENCE_JACOBIANCHAINS_H
#define BPPSA_REFERENCE_JACOBIANCHAINS_H

#include "bppsa/Reference/Interpreter.h"
#include "mlir/IR/OwningOpRef.h"

namespace bppsa {

/// Returns the possible nonzeros of the results of `jacobian.assemble` in `function`. `interpreter`
/// must have called the function.
NamedArrays getJacobianChain(mlir::Operation *function, const Interpreter &interpreter);

/// Creates a module with a function @chain that takes the Jacobians of `arrays` and a seed and
/// applies the Jacobians in order. The result of the last one is unused. With `dropZeros`, entries
/// that are zero for every sample are removed from the patterns. If `arrays` is not a valid chain,
/// returns null and sets `error`.
mlir::OwningOpRef<mlir::ModuleOp> makeJacobianChain(mlir::MLIRContext *context,
                                                    const NamedArrays &arrays, bool dropZeros,
                                                    std::string &error);

} // namespace bppsa

#endif // BPPSA_REFERENCE_JACOBIANCHAINS_H
