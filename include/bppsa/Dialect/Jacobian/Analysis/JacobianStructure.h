//===- JacobianStructure.h - structure of transposed Jacobians --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Infers the structure of the transposed Jacobian of an operation from its indexing maps, slice
// offsets and similar properties. No rule is specific to a type of layer. Only guaranteed zeros
// count as zeros. `inferStepJacobian` is the counterpart for time loops.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_ANALYSIS_JACOBIANSTRUCTURE_H
#define BPPSA_DIALECT_JACOBIAN_ANALYSIS_JACOBIANSTRUCTURE_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <optional>

namespace bppsa {

/// The sample dimension of each value that depends on samples.
using SampleAxes = llvm::DenseMap<mlir::Value, int64_t>;

/// Returns the sample dimension of `result`, given the sample dimensions of the operands. Returns
/// nullopt if no operand depends on samples. Fails and sets `why` if samples mix or no rule is
/// known.
llvm::FailureOr<std::optional<int64_t>> inferSampleAxis(mlir::OpResult result,
                                                        const SampleAxes &axes, std::string &why);

/// Returns the type of the transposed Jacobian of `result` with respect to `operand`, an operand of
/// the operation or a tensor that its body reads. Rows are the elements of one sample of `operand`
/// and columns are the elements of one sample of `result`, in row-major order. The type has a batch
/// if the values differ between samples. Returns null and sets `why` if no structure is known.
jacobian::MatrixType inferJacobian(mlir::OpResult result, mlir::Value operand,
                                   const SampleAxes &axes, std::string &why);

/// Called with every Jacobian that was found, or with a null type and the reason if none was found.
using StructureReport =
    llvm::function_ref<void(mlir::Operation *op, jacobian::MatrixType type, llvm::StringRef why)>;

/// Returns the sample dimensions of all values of a graph. Arguments with `bppsa.input` use their
/// `bppsa.batch_axis`, or `batchAxis` if no argument has that attribute.
SampleAxes findSampleAxes(mlir::FunctionOpInterface function, int64_t batchAxis);

/// Attaches `jacobian.operands` to `op` if its result depends on samples.
void annotateStructure(mlir::Operation *op, const SampleAxes &axes);

/// Attaches `jacobian.operands` to every operation of a graph that depends on samples. Returns the
/// result of `findSampleAxes`.
SampleAxes annotateGraphStructure(mlir::FunctionOpInterface function, int64_t batchAxis,
                                  StructureReport report);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_ANALYSIS_JACOBIANSTRUCTURE_H
