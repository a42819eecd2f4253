//===- BGPU.h - the bgpu dialect --------------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_IR_BGPU_H
#define BPPSA_DIALECT_BGPU_IR_BGPU_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "bppsa/Dialect/BGPU/IR/BGPUDialect.h.inc"

#define GET_OP_CLASSES
#include "bppsa/Dialect/BGPU/IR/BGPUOps.h.inc"

#endif // BPPSA_DIALECT_BGPU_IR_BGPU_H
