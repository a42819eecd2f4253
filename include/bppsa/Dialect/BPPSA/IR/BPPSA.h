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

namespace bppsa {

/// The rarely used operands and attributes of a time loop.
struct LoopOptions {
  LoopOptions(bool reverse = false, mlir::Value steps = {}) : reverse(reverse), steps(steps) {}

  bool reverse;
  /// The number of steps of a loop in graph form without sequences.
  mlir::Value steps;
  /// Lanes of packed arrays; null if they are not packed.
  mlir::IntegerAttr lanes;
  /// One for each result, in order, or none.
  llvm::SmallVector<mlir::Value> destinations;
};

/// The rarely used operands and attributes of a chain.
struct ChainOptions : LoopOptions {
  /// Null for a linear chain.
  PlanAttr plan;
  /// Of the links; null if they are not known.
  jacobian::StructureAttr structure;
  mlir::ArrayAttr terms;
  /// The sums over steps and samples: their types, and the factor of each or `kNoFactor`.
  llvm::SmallVector<mlir::Type> sums;
  llvm::SmallVector<int64_t> sumWith;
  llvm::SmallVector<mlir::Value> factors;
  bool flatSums = false;
};

} // namespace bppsa

#define GET_OP_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSAOps.h.inc"

namespace bppsa {

/// The options that `loop` was built with.
LoopOptions getOptions(RecurrenceOp loop);
ChainOptions getOptions(ChainOp loop);

/// Of a sum without a factor, in `sum_with` of chains.
inline constexpr int64_t kNoFactor = -1;

/// Fails, after a diagnostic, where `op` is a chain that sums what it yields:
/// for lowerings that keep such sums apart.
llvm::LogicalResult verifyNoSums(mlir::Operation *op);

/// The time loops under `root` that have a direction.
llvm::SmallVector<mlir::Operation *> findDirectedLoops(mlir::Operation *root);

/// Whether `loop`, one of these, has the attribute `reverse`.
bool isReverse(mlir::Operation *loop);
void setReverse(mlir::Operation *loop, bool reverse);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSA_H
