//===- KernelTrait.h - ops lowered to loop nests ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_KERNELTRAIT_H
#define BPPSA_SUPPORT_KERNELTRAIT_H

#include "mlir/IR/OpDefinition.h"

namespace bppsa {

/// Once bufferized, the op is lowered to one loop nest on memrefs.
template <typename ConcreteType>
class KernelTrait : public mlir::OpTrait::TraitBase<ConcreteType, KernelTrait> {};

inline bool isBufferizedKernel(mlir::Operation *op) {
  return op->getNumResults() == 0 && op->hasTrait<KernelTrait>();
}

} // namespace bppsa

#endif // BPPSA_SUPPORT_KERNELTRAIT_H
