//===- BPPSA.h - the bppsa dialect ------------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSA_H
#define BPPSA_DIALECT_BPPSA_IR_BPPSA_H

#include "bppsa/Dialect/BPPSA/IR/CellOps.h"
#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"
#include "bppsa/Support/KernelTrait.h"
#include "bppsa/Support/TensorPrecision.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "bppsa/Dialect/BPPSA/IR/BPPSAEnums.h.inc"
#include "bppsa/Dialect/BPPSA/IR/BPPSAInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSAAttributes.h.inc"

// After the attributes: the dialect has typed access to those of operations.
#include "bppsa/Dialect/BPPSA/IR/BPPSADialect.h.inc"

namespace bppsa {
/// Whether `body`, that of a time loop, computes tensors of one sample (the graph form) rather
/// than vectors: whether a tensor enters it or is yielded.
bool isGraphBody(mlir::Block &body);
} // namespace bppsa

#define GET_OP_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSAOps.h.inc"

namespace bppsa {

/// Of a sum without a factor, in `sum_with` of chains.
inline constexpr int64_t kNoFactor = -1;

/// Fails, after a diagnostic, where `op` is a chain that sums what it yields:
/// for lowerings that keep such sums apart.
llvm::LogicalResult verifyNoSums(mlir::Operation *op);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSA_H
