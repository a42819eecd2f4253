//===- Recurrence.h - a block runs the steps of a sample --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_RECURRENCE_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_RECURRENCE_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Emits the kernel of a recurrence mapped to `block_per_row`. A block runs a sample or, without
/// states, a group of steps. Fails with a diagnostic if the body is not row-wise.
llvm::LogicalResult convertRecurrence(RecurrenceOp op);

mlir::Value getRecurrenceStep(mlir::OpBuilder &builder, RecurrenceOp op, mlir::Value numSteps,
                              mlir::Value position);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_RECURRENCE_H
