//===- StreamPlan.h - the arrays of a step graph in a stream ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_LOOPS_STREAMPLAN_H
#define BPPSA_LIB_IMPORT_LOOPS_STREAMPLAN_H

#include "../Model/Bindings.h"
#include "LoopBuilder.h"

namespace bppsa {

/// How an input or an output of a step graph lies in the array of a stream.
struct StreamAxes {
  /// Axes of the graph's own array that carry steps and samples; without one, the array of the
  /// stream gets one in front.
  std::optional<int64_t> step, batch;
  /// The other end of a carried pair; empty for a sequence.
  std::string partner;

  bool isCarried() const { return !partner.empty(); }
  /// Axes that the stream has in front of those of the graph.
  int64_t getNumNewAxes() const { return (isCarried() || step ? 0 : 1) + (batch ? 0 : 1); }
  LoopLayout getLayout() const;
};

/// What `--carry`, `--batch-axis` and `--step-axis` make of the inputs and outputs of a graph.
struct StreamPlan {
  llvm::StringMap<StreamAxes> inputs, outputs;
};

/// The axis that carries samples for each input and output in which data flow finds one.
using FoundAxes = llvm::StringMap<int64_t>;

/// Plans the stream that `options` ask for. Binds the symbolic dimensions that count samples to 1:
/// a sample's own graph sees a batch of 1. Fails after an error where the options name nothing of
/// the graph, or axes that are not of size 1, and where a dimension has no size.
mlir::FailureOr<StreamPlan> planStream(const OnnxFile &file, const ImportOptions &options,
                                       const FoundAxes &found, GraphBindings &bindings);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_LOOPS_STREAMPLAN_H
