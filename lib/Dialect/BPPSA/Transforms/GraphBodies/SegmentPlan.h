//===- SegmentPlan.h - residuals of a few steps at a time -------*- C++ -*-===//
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

/// A loop in graph form and the chain that goes back through it, for which buffers of a segment of
/// steps can take the place of arrays over all steps.
struct SegmentPlan {
  /// A buffered result that the chain reads; of a state, what it is after the step or before it.
  struct Source {
    unsigned result;
    bool afterStep;
  };

  RecurrenceOp forward;
  ChainOp backward;
  /// For each result of `forward`: whether nothing but `backward` reads it, apart from the state
  /// after the last step.
  llvm::SmallVector<bool> isBuffered;
  /// For each array that `backward` saved: the buffered result that it is.
  llvm::SmallVector<std::optional<Source>> sources;
  /// Reads of final states that are buffered, and which state it is.
  llvm::SmallVector<std::pair<mlir::tensor::ExtractSliceOp, unsigned>> finalStates;
  /// Bytes of the buffered results for one step of one sample, and of the buffered states alone.
  int64_t stepBytes = 0, stateBytes = 0;
};

/// The loops of `function` with results that can be buffered.
llvm::SmallVector<SegmentPlan> planSegments(mlir::func::FuncOp function);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_SEGMENTPLAN_H
