//===- OperandRelation.h - relations of operands and results ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Describes each supported operation as a loop nest that relates elements of an operand to elements
// of a result (AccessPattern.h), and classifies the derivative.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_JACOBIAN_ANALYSIS_OPERANDRELATION_H
#define BPPSA_LIB_DIALECT_JACOBIAN_ANALYSIS_OPERANDRELATION_H

#include "bppsa/Dialect/Jacobian/Analysis/JacobianStructure.h"
#include "bppsa/Dialect/Jacobian/Sparsity/AccessPattern.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {

/// A classification of derivatives, from the most to the least specific.
enum class Slope { Zero, One, Shared, PerSample };

/// The dependence of a result on an operand. Elements that may come from several sources have one
/// nest per source. All nests have the same slope.
struct Relation {
  struct Access {
    LoopNest nest;
    ArrayAccess operand, result;
  };
  llvm::SmallVector<Access, 1> accesses;
  Slope slope = Slope::One;
  /// Indexing maps of the other operands of a nest, whose elements are the slopes.
  llvm::SmallVector<mlir::AffineMap> factors;
};

ArrayAccess makeAccess(mlir::AffineMap map, mlir::Value array);

/// Returns the slope of `result`, a scalar of `body`, with respect to `target`. `target` is an
/// argument of the body or a tensor from which the body extracts elements. `isSampled` returns true
/// for tensors and arguments that depend on samples.
Slope getBodySlope(mlir::Block &body, mlir::Value target, mlir::Value result,
                   llvm::function_ref<bool(mlir::Value)> isSampled);

/// Returns the relation of the elements that `extract`, in the body of `op`, reads. Indices from an
/// index tensor are traced to the operation that computes that tensor. Returns nullopt and sets
/// `why` if the elements are not known.
std::optional<Relation> getGatherRelation(mlir::linalg::GenericOp op,
                                          mlir::tensor::ExtractOp extract, std::string &why);

/// Returns the dependence of `result` on `operand`, an operand of its operation or a tensor that
/// the body reads. Returns nullopt and sets `why` if it is not known.
std::optional<Relation> getRelation(mlir::OpResult result, mlir::Value operand,
                                    const SampleAxes &axes, std::string &why);

/// Returns the other factor of a sum of products, whose elements are the slopes of `operand`. Null
/// if the body is not a sum of products.
mlir::OpOperand *findFactor(mlir::OpResult result, mlir::Value operand);

/// Returns the entries of the transposed Jacobian of a sum of products, except entries whose
/// element of `factor` is known to be zero. Returns nullopt if an entry is a sum of several
/// elements.
std::optional<SharedValues> getFactorValues(mlir::OpOperand &factor,
                                            const Relation::Access &access);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_JACOBIAN_ANALYSIS_OPERANDRELATION_H
