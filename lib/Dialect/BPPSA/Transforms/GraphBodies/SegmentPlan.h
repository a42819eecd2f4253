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

/// A loop in graph form and its backward chain, with buffers for a segment of time steps instead of
/// arrays over all steps.
struct SegmentPlan {
  /// A buffered result that the chain reads. For a state, `afterStep` selects its value after the
  /// step instead of before.
  struct Source {
    unsigned result;
    bool afterStep;
  };

  RecurrenceOp forward;
  ChainOp backward;
  /// For each result of `forward`, true if only `backward` reads it, apart from the final state.
  llvm::SmallVector<bool> isBuffered;
  /// For each saved array of `backward`, the buffered result that it reads.
  llvm::SmallVector<std::optional<Source>> sources;
  /// Reads of buffered final states, and the index of the state.
  llvm::SmallVector<std::pair<mlir::tensor::ExtractSliceOp, unsigned>> finalStates;
  /// Bytes of all buffered results, and of the buffered states, for one step of one sample.
  int64_t stepBytes = 0, stateBytes = 0;
};

/// Plans the loops of `function` whose results can be buffered.
llvm::SmallVector<SegmentPlan> planSegments(mlir::func::FuncOp function);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_SEGMENTPLAN_H
