//===- Jacobian.h - the jacobian dialect ------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_IR_JACOBIAN_H
#define BPPSA_DIALECT_JACOBIAN_IR_JACOBIAN_H

#include "bppsa/Dialect/Jacobian/Sparsity/SparsityPattern.h"
#include "bppsa/Support/DestinationOps.h"
#include "bppsa/Support/KernelTrait.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

#include "bppsa/Dialect/Jacobian/IR/JacobianEnums.h.inc"

namespace bppsa::jacobian {
class MatrixType;
} // namespace bppsa::jacobian

#define GET_ATTRDEF_CLASSES
#include "bppsa/Dialect/Jacobian/IR/JacobianAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "bppsa/Dialect/Jacobian/IR/JacobianTypes.h.inc"

// Must follow the attributes: the dialect class has typed accessors.
#include "bppsa/Dialect/Jacobian/IR/JacobianDialect.h.inc"

namespace bppsa::jacobian {
/// A capture of type `type` must enter the body as a vector of the same static shape.
llvm::LogicalResult verifyVectorCapture(mlir::Operation *op, mlir::ShapedType type,
                                        mlir::Type bodyType);
} // namespace bppsa::jacobian

#define GET_OP_CLASSES
#include "bppsa/Dialect/Jacobian/IR/JacobianOps.h.inc"

#endif // BPPSA_DIALECT_JACOBIAN_IR_JACOBIAN_H
