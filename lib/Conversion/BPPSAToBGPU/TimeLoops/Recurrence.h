//===- Recurrence.h - a block runs the steps of a sample --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_RECURRENCE_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_RECURRENCE_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Emits the kernel of a bufferized recurrence that is mapped to `block_per_row` in front of it,
/// with a block for each sample, or without states for some steps of one. Fails after a diagnostic
/// where its body has no row-wise evaluation.
llvm::LogicalResult convertRecurrence(RecurrenceOp op);

/// The step at position `position` of a loop of `numSteps` steps.
mlir::Value getRecurrenceStep(mlir::OpBuilder &builder, RecurrenceOp op, mlir::Value numSteps,
                              mlir::Value position);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_RECURRENCE_H
