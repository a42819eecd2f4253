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

/// Whether so many neighbouring threads are in one warp, wherever they begin.
bool areInWarp(int64_t threads);
/// The type of an array in shared memory.
mlir::MemRefType getSharedType(llvm::ArrayRef<int64_t> shape, mlir::Type element);
/// The slot that iteration `position` of a loop has of the `count` slots of a ring, a power of two:
/// by it `bgpu-insert-barriers` tells slots apart.
mlir::Value getRingSlot(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value position,
                        int64_t count);
/// How many neighbouring threads have each element of a tile: 1, or what its layout says.
int64_t getReplicas(mlir::RankedTensorType tile);
/// A tile whose elements `replicas` neighbouring threads have.
mlir::RankedTensorType getTileType(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                                   int64_t replicas);
/// The threads of a block that have an element of a tile: the first ones.
int64_t countThreads(mlir::RankedTensorType tile);

} // namespace bppsa::bgpu

#define GET_OP_CLASSES
#include "bppsa/Dialect/BGPU/IR/BGPUOps.h.inc"

#endif // BPPSA_DIALECT_BGPU_IR_BGPU_H
