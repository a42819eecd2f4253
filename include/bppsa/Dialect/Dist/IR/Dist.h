//===- Dist.h - the dist dialect --------------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_DIST_IR_DIST_H
#define BPPSA_DIALECT_DIST_IR_DIST_H

#include "bppsa/Support/DestinationOps.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "bppsa/Dialect/Dist/IR/DistDialect.h.inc"

namespace bppsa::dist {
/// A rank sends to another one, receives from it or waits for it.
template <typename ConcreteType>
class ExchangeTrait : public mlir::OpTrait::TraitBase<ConcreteType, ExchangeTrait> {};
} // namespace bppsa::dist

#define GET_OP_CLASSES
#include "bppsa/Dialect/Dist/IR/DistOps.h.inc"

#endif // BPPSA_DIALECT_DIST_IR_DIST_H
