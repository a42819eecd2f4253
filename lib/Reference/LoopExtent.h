//===- LoopExtent.h - sizes of the sequences of loops -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_REFERENCE_LOOPEXTENT_H
#define BPPSA_LIB_REFERENCE_LOOPEXTENT_H

#include "SampleView.h"
#include "bppsa/Reference/Interpreter.h"

namespace bppsa {

/// The common number of time steps and samples of the sequences of a loop.
struct LoopExtent {
  int64_t steps = 0, samples = 0;
};

/// Checks that all `sequences` have the same number of time steps and that `sequences` and `states`
/// have the same number of samples. `steps` is the number of time steps of a loop without
/// sequences.
llvm::FailureOr<LoopExtent> getLoopExtent(mlir::Operation *op, Interpreter &interpreter,
                                          SampleView layout, mlir::ValueRange sequences,
                                          mlir::ValueRange states, mlir::Value steps = {});

} // namespace bppsa

#endif // BPPSA_LIB_REFERENCE_LOOPEXTENT_H
