//===- JacobianStructure.h - structure of transposed Jacobians --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Infers the structure of transposed Jacobians from indexing maps and slice offsets; only
// guaranteed zeros count.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_ANALYSIS_JACOBIANSTRUCTURE_H
#define BPPSA_DIALECT_JACOBIAN_ANALYSIS_JACOBIANSTRUCTURE_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <optional>

namespace bppsa {

/// Sample dimension of each value that depends on samples.
using SampleAxes = llvm::DenseMap<mlir::Value, int64_t>;

/// Returns the sample dimension of `result`; nullopt if no operand depends on samples. Fails and
/// sets `why` if samples mix or no rule is known.
llvm::FailureOr<std::optional<int64_t>> inferSampleAxis(mlir::OpResult result,
                                                        const SampleAxes &axes, std::string &why);

/// Returns the transposed Jacobian of one sample of `result` (columns) with respect to `operand`
/// (rows), an operand or a tensor read in the body. It has a batch if values differ between
/// samples. Returns null and sets `why` if unknown.
jacobian::MatrixType inferJacobian(mlir::OpResult result, mlir::Value operand,
                                   const SampleAxes &axes, std::string &why);

/// The type is null, with a reason, if no Jacobian was found.
using StructureReport =
    llvm::function_ref<void(mlir::Operation *op, jacobian::MatrixType type, llvm::StringRef why)>;

/// Arguments with `bppsa.input` use their `bppsa.batch_axis`, or `batchAxis` if no argument has
/// one.
SampleAxes findSampleAxes(mlir::FunctionOpInterface function, int64_t batchAxis);

/// Attaches `jacobian.operands` if the result depends on samples.
void annotateStructure(mlir::Operation *op, const SampleAxes &axes);

/// Calls `annotateStructure` for every operation and returns the result of `findSampleAxes`.
SampleAxes annotateGraphStructure(mlir::FunctionOpInterface function, int64_t batchAxis,
                                  StructureReport report);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_ANALYSIS_JACOBIANSTRUCTURE_H
