//===- Dist.h - the dist dialect --------------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_DIST_IR_DIST_H
#define BPPSA_DIALECT_DIST_IR_DIST_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "bppsa/Dialect/Dist/IR/DistDialect.h.inc"

#define GET_OP_CLASSES
#include "bppsa/Dialect/Dist/IR/DistOps.h.inc"

#endif // BPPSA_DIALECT_DIST_IR_DIST_H
