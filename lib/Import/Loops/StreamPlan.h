//===- StreamPlan.h - layouts of step graphs in streams ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_LOOPS_STREAMPLAN_H
#define BPPSA_LIB_IMPORT_LOOPS_STREAMPLAN_H

#include "../Model/Bindings.h"
#include "LoopBuilder.h"

namespace bppsa {

/// The layout of an input or output of a step graph in the array of the stream.
struct StreamAxes {
  /// Axes of time steps and samples. An absent axis becomes a new leading axis of the stream's
  /// array.
  std::optional<int64_t> step, batch;
  /// The other end of a carried pair; empty for a sequence.
  std::string partner;

  bool isCarried() const { return !partner.empty(); }
  int64_t getNumNewAxes() const { return (isCarried() || step ? 0 : 1) + (batch ? 0 : 1); }
  LoopLayout getLayout() const;
};

struct StreamPlan {
  llvm::StringMap<StreamAxes> inputs, outputs;
};

/// The batch axes of inputs and outputs, where data flow finds one.
using FoundAxes = llvm::StringMap<int64_t>;

/// Plans the stream requested by `options`. Symbolic dimensions that count samples are bound to 1.
/// Emits an error if an option names an unknown array or an axis whose size is not 1.
mlir::FailureOr<StreamPlan> planStream(const OnnxFile &file, const ImportOptions &options,
                                       const FoundAxes &found, GraphBindings &bindings);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_LOOPS_STREAMPLAN_H
