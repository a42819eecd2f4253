//===- SegmentPlan.h - plans segments of time steps -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_SEGMENTPLAN_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_SEGMENTPLAN_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {

/// A loop in graph form and its backward chain with buffers for a segment of time steps.
struct SegmentPlan {
  /// `afterStep` selects the state after the step instead of before it.
  struct Source {
    unsigned result;
    bool afterStep;
  };

  RecurrenceOp forward;
  ChainOp backward;
  /// True for `forward` results that only `backward` reads, apart from the final state.
  llvm::SmallVector<bool> isBuffered;
  /// Buffered result that each saved array of `backward` reads.
  llvm::SmallVector<std::optional<Source>> sources;
  /// Reads of buffered final states, with the state index.
  llvm::SmallVector<std::pair<mlir::tensor::ExtractSliceOp, unsigned>> finalStates;
  /// Bytes per step and sample of buffered results, and of buffered states.
  int64_t stepBytes = 0, stateBytes = 0;
};

llvm::SmallVector<SegmentPlan> planSegments(mlir::func::FuncOp function);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_SEGMENTPLAN_H
