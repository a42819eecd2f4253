//===- BGPU.h - the bgpu dialect --------------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_IR_BGPU_H
#define BPPSA_DIALECT_BGPU_IR_BGPU_H

#include "bppsa/Support/TensorPrecision.h"
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

#define GET_ATTRDEF_CLASSES
#include "bppsa/Dialect/BGPU/IR/BGPUAttributes.h.inc"

namespace bppsa::bgpu {

/// True if every aligned group of `threads` threads is within one warp.
bool areInWarp(int64_t threads);
mlir::MemRefType getSharedType(llvm::ArrayRef<int64_t> shape, mlir::Type element);
/// Returns the slot of iteration `position`; `count` is a power of two. `bgpu-insert-barriers`
/// recognises this computation.
mlir::Value getRingSlot(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value position,
                        int64_t count);
/// Returns the number of neighbouring threads that hold each element.
int64_t getReplicas(mlir::RankedTensorType tile);
mlir::RankedTensorType getTileType(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                                   int64_t replicas);
/// Returns the number of threads, the first of the block, that hold elements.
int64_t countThreads(mlir::RankedTensorType tile);

} // namespace bppsa::bgpu

#define GET_OP_CLASSES
#include "bppsa/Dialect/BGPU/IR/BGPUOps.h.inc"

#endif // BPPSA_DIALECT_BGPU_IR_BGPU_H
