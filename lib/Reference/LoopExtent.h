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

/// Number of steps and samples that the sequences of a loop agree on.
struct LoopExtent {
  int64_t steps = 0, samples = 0;
};

/// Checks that `sequences` have one number of steps and `states` and they one
/// number of samples. `steps` is the number of steps of a loop without sequences.
llvm::FailureOr<LoopExtent> getLoopExtent(mlir::Operation *op, Interpreter &interpreter,
                                          SampleView layout, mlir::ValueRange sequences,
                                          mlir::ValueRange states, mlir::Value steps = {});

} // namespace bppsa

#endif // BPPSA_LIB_REFERENCE_LOOPEXTENT_H
