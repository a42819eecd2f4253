//===- BPPSA.h - the bppsa dialect ------------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSA_H
#define BPPSA_DIALECT_BPPSA_IR_BPPSA_H

#include "bppsa/Dialect/BPPSA/IR/CellOps.h"
#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"
#include "bppsa/Support/DestinationOps.h"
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

// Must follow the attributes: the dialect has typed accessors for them.
#include "bppsa/Dialect/BPPSA/IR/BPPSADialect.h.inc"

namespace bppsa {
/// True for a body in graph form: it takes or yields tensors of one sample instead of vectors.
bool isGraphBody(mlir::Block &body);
} // namespace bppsa

namespace bppsa {

struct LoopOptions {
  LoopOptions(bool reverse = false, mlir::Value steps = {}) : reverse(reverse), steps(steps) {}

  /// Lets the loop write its results to `arrays`, in order. All arrays have `arrayLanes`.
  void writeTo(mlir::ValueRange arrays, mlir::IntegerAttr arrayLanes = {}) {
    destinations.assign(arrays.begin(), arrays.end());
    lanes = arrayLanes;
  }

  bool reverse;
  /// Steps of a loop in graph form without sequences.
  mlir::Value steps;
  /// Lanes of packed arrays; null if not packed.
  mlir::IntegerAttr lanes;
  /// Has one destination per result, in order, or none.
  llvm::SmallVector<mlir::Value> destinations;
};

struct ChainOptions : LoopOptions {
  /// Null for a linear chain.
  PlanAttr plan;
  /// Null if unknown.
  jacobian::StructureAttr structure;
  mlir::ArrayAttr terms;
  /// Types of sums over steps and samples, and their factor indices or `kNoFactor`.
  llvm::SmallVector<mlir::Type> sums;
  llvm::SmallVector<int64_t> sumWith;
  llvm::SmallVector<mlir::Value> factors;
  bool flatSums = false;
};

} // namespace bppsa

#define GET_OP_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSAOps.h.inc"

namespace bppsa {

LoopOptions getOptions(RecurrenceOp loop);
ChainOptions getOptions(ChainOp loop);

/// Marks a sum without a factor in `sum_with`.
inline constexpr int64_t kNoFactor = -1;

/// Fails with a diagnostic if `op` is a chain with sums of yielded values, which not all lowerings
/// support.
llvm::LogicalResult verifyNoSums(mlir::Operation *op);

/// Returns the time loops in `root` that have a direction.
llvm::SmallVector<mlir::Operation *> findDirectedLoops(mlir::Operation *root);

/// `loop` is a result of `findDirectedLoops`.
bool isReverse(mlir::Operation *loop);
void setReverse(mlir::Operation *loop, bool reverse);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSA_H
