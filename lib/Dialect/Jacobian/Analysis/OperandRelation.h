//===- OperandRelation.h - how a result follows from an operand -*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Every operation whose Jacobian is understood is described as a loop nest that
// relates elements of an operand to elements of a result (AccessPattern.h),
// together with what is known of the slopes.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_JACOBIAN_ANALYSIS_OPERANDRELATION_H
#define BPPSA_LIB_DIALECT_JACOBIAN_ANALYSIS_OPERANDRELATION_H

#include "bppsa/Dialect/Jacobian/Analysis/JacobianStructure.h"
#include "bppsa/Dialect/Jacobian/Sparsity/AccessPattern.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {

/// What is known of the derivative of a value: more is known of smaller ones.
enum class Slope { Zero, One, Shared, PerSample };

/// How a result follows from an operand. There are several nests where the
/// elements that are read come from several places; all have the slope.
struct Relation {
  struct Access {
    LoopNest nest;
    ArrayAccess operand, result;
  };
  llvm::SmallVector<Access, 1> accesses;
  Slope slope = Slope::One;
  /// The maps of the other operands of a nest, whose elements are the slopes.
  llvm::SmallVector<mlir::AffineMap> factors;
};

/// An access to `array`, a ranked tensor.
ArrayAccess makeAccess(mlir::AffineMap map, mlir::Value array);

/// The slope of `result`, a scalar of a body, with respect to `target`, which is
/// an argument of the body or a tensor that it extracts elements from.
/// `isSampled` says which tensors and arguments depend on samples.
Slope getBodySlope(mlir::Block &body, mlir::Value target, mlir::Value result,
                   llvm::function_ref<bool(mlir::Value)> isSampled);

/// The elements of a tensor that the body of `op` extracts with `extract`. An
/// element of a tensor of positions is followed to where the positions are
/// computed. None, with the reason in `why`, where they are not known.
std::optional<Relation> getGatherRelation(mlir::linalg::GenericOp op,
                                          mlir::tensor::ExtractOp extract, std::string &why);

/// How `result` follows from `operand`, an operand of its operation or a tensor
/// that the body reads. None, with the reason in `why`, where that is not known.
std::optional<Relation> getRelation(mlir::OpResult result, mlir::Value operand,
                                    const SampleAxes &axes, std::string &why);

/// The operand of the operation of `result` whose elements are the slopes of
/// `operand`: the other factor of a sum of products. Null where the body is something
/// else.
mlir::OpOperand *findFactor(mlir::OpResult result, mlir::Value operand);

/// The entries of the transposed Jacobian of a sum of products, without those whose
/// element of `factor` is known to be zero. None where an entry is a sum of several.
std::optional<SharedValues> getFactorValues(mlir::OpOperand &factor,
                                            const Relation::Access &access);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_JACOBIAN_ANALYSIS_OPERANDRELATION_H
