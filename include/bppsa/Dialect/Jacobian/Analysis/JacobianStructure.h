//===- JacobianStructure.h - structure of transposed Jacobians --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The structure of the transposed Jacobian of an operation, found in the
// operation itself: in the indexing maps of a loop nest, in the slices of a
// tensor. Nothing here is about one kind of layer. A zero that is known is
// guaranteed; elements that happen to be zero stay. `inferStepJacobian` does the
// same for time loops.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_ANALYSIS_JACOBIANSTRUCTURE_H
#define BPPSA_DIALECT_JACOBIAN_ANALYSIS_JACOBIANSTRUCTURE_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <optional>

namespace bppsa {

/// The dimension of a value that samples run along; none where the value does
/// not depend on samples.
using SampleAxes = llvm::DenseMap<mlir::Value, int64_t>;

/// The dimension of the result number `result` of `op` that samples run along,
/// given those of its operands. None where no operand depends on samples;
/// failure, with the reason in `why`, where samples mix or no rule is known.
llvm::FailureOr<std::optional<int64_t>> inferSampleAxis(mlir::OpResult result,
                                                        const SampleAxes &axes, std::string &why);

/// The transposed Jacobian of `result` with respect to `operand`, which depend
/// on samples along the given dimensions: rows are the elements of one sample of
/// `operand` in row-major order, columns those of `result`. It has a batch
/// where its values differ between samples. Null, with the reason in `why`,
/// where no structure is known.
///
/// `operand` is an operand of the operation, or a tensor that its body reads.
jacobian::MatrixType inferJacobian(mlir::OpResult result, mlir::Value operand,
                                   const SampleAxes &axes, std::string &why);

/// Is told of every Jacobian that was found, or why none was (with a null type).
using StructureReport =
    llvm::function_ref<void(mlir::Operation *op, jacobian::MatrixType type, llvm::StringRef why)>;

/// The dimensions that samples run along in a graph. Arguments with `bppsa.input` have samples
/// along `bppsa.batch_axis`; where none has that attribute, along `batchAxis`.
SampleAxes findSampleAxes(mlir::FunctionOpInterface function, int64_t batchAxis);

/// Gives `op` its `jacobian.operands`, if its result depends on samples.
void annotateStructure(mlir::Operation *op, const SampleAxes &axes);

/// Gives every operation of a graph that depends on samples its `jacobian.operands`. Returns what
/// `findSampleAxes` does.
SampleAxes annotateGraphStructure(mlir::FunctionOpInterface function, int64_t batchAxis,
                                  StructureReport report);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_ANALYSIS_JACOBIANSTRUCTURE_H
