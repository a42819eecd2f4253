//===- ElementwiseVJP.h - VJPs of scalar and vector ops ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// If the value of an op is not finite, its derivative counts as zero, so a finite loss has no NaN
// gradient. The guards are linear in the cotangent because a parallel scan also applies them to
// columns of Jacobians.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_RULES_ELEMENTWISEVJP_H
#define BPPSA_LIB_DIFFERENTIATION_RULES_ELEMENTWISEVJP_H

#include "bppsa/Differentiation/Differentiation.h"

namespace bppsa {

mlir::Value createFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type,
                        double value);

/// Returns `cotangent` if `factor` is finite, else zero.
mlir::Value zeroUnlessFinite(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value factor,
                             mlir::Value cotangent);

/// Returns zero if `x` is `pole` or NaN, else `cotangent`.
mlir::Value zeroAtPole(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, double pole,
                       mlir::Value cotangent);

/// `buildCotangent` builds the cotangent of one operand, or null for zero.
template <typename OpTy,
          mlir::Value (*buildCotangent)(OpTy op, unsigned operand, mlir::Value cotangent,
                                        mlir::OpBuilder &builder)>
struct ElementwiseVJP : VJPOpInterface::ExternalModel<ElementwiseVJP<OpTy, buildCotangent>, OpTy> {
  llvm::LogicalResult buildVJP(mlir::Operation *op, mlir::OpBuilder &builder,
                               mlir::ValueRange resultCotangents, llvm::ArrayRef<bool> needed,
                               llvm::MutableArrayRef<mlir::Value> operandCotangents) const {
    if (llvm::isa<mlir::TensorType>(op->getResult(0).getType()))
      return op->emitOpError("has a derivative on scalars and vectors only, found a tensor; use it "
                             "in the body of a linalg.generic");
    for (unsigned i = 0; i < needed.size(); ++i)
      if (needed[i])
        operandCotangents[i] =
            buildCotangent(llvm::cast<OpTy>(op), i, resultCotangents.front(), builder);
    return llvm::success();
  }
};

void registerArithVJP(mlir::DialectRegistry &registry);
void registerBPPSAVJP(mlir::DialectRegistry &registry);
void registerDistVJP(mlir::DialectRegistry &registry);
void registerLinalgVJP(mlir::DialectRegistry &registry);
void registerMathVJP(mlir::DialectRegistry &registry);
void registerTensorVJP(mlir::DialectRegistry &registry);
void registerVectorVJP(mlir::DialectRegistry &registry);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_RULES_ELEMENTWISEVJP_H
