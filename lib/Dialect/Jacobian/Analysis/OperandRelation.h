//===- OperandRelation.h - relations of operands and results ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Relates the elements of operands and results by loop nests and classifies derivatives.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_JACOBIAN_ANALYSIS_OPERANDRELATION_H
#define BPPSA_LIB_DIALECT_JACOBIAN_ANALYSIS_OPERANDRELATION_H

#include "bppsa/Dialect/Jacobian/Analysis/JacobianStructure.h"
#include "bppsa/Dialect/Jacobian/Sparsity/AccessPattern.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {

/// Ordered from most to least specific.
enum class Slope { Zero, One, Shared, PerSample };

/// Dependence of a result on an operand: one nest per source, all with the same slope.
struct Relation {
  struct Access {
    LoopNest nest;
    ArrayAccess operand, result;
  };
  llvm::SmallVector<Access, 1> accesses;
  Slope slope = Slope::One;
  /// Indexing maps of the other operands, whose elements are the slopes.
  llvm::SmallVector<mlir::AffineMap> factors;
};

ArrayAccess makeAccess(mlir::AffineMap map, mlir::Value array);

/// Returns the slope of `result` with respect to `target`, a body argument or a tensor from which
/// the body extracts elements. `isSampled` is true for values that depend on samples.
Slope getBodySlope(mlir::Block &body, mlir::Value target, mlir::Value result,
                   llvm::function_ref<bool(mlir::Value)> isSampled);

/// Returns the relation of the elements that `extract` reads; nullopt and `why` if unknown. Indices
/// are traced to the operation that computes them.
std::optional<Relation> getGatherRelation(mlir::linalg::GenericOp op,
                                          mlir::tensor::ExtractOp extract, std::string &why);

/// Returns the dependence of `result` on `operand`, an operand or a tensor read in the body;
/// nullopt and `why` if unknown.
std::optional<Relation> getRelation(mlir::OpResult result, mlir::Value operand,
                                    const SampleAxes &axes, std::string &why);

/// Returns null if the body is not a sum of products.
mlir::OpOperand *findFactor(mlir::OpResult result, mlir::Value operand);

/// Returns the entries of the transposed Jacobian of a sum of products, without known zeros of
/// `factor`; nullopt if an entry is a sum.
std::optional<SharedValues> getFactorValues(mlir::OpOperand &factor,
                                            const Relation::Access &access);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_JACOBIAN_ANALYSIS_OPERANDRELATION_H
