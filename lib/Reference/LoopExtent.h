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

struct LoopExtent {
  int64_t steps = 0, samples = 0;
};

/// Requires equal time steps of `sequences`, and equal samples of `sequences` and `states`. Loops
/// without sequences have `steps` time steps.
llvm::FailureOr<LoopExtent> getLoopExtent(mlir::Operation *op, Interpreter &interpreter,
                                          SampleView layout, mlir::ValueRange sequences,
                                          mlir::ValueRange states, mlir::Value steps = {});

} // namespace bppsa

#endif // BPPSA_LIB_REFERENCE_LOOPEXTENT_H
