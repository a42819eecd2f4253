//===- PackedOperands.cpp - operands with a dimension of lanes ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

using namespace mlir;
using namespace bppsa;

using Operands = SmallVector<OpOperand *>;

static Operands collect(ArrayRef<MutableOperandRange> ranges) {
  Operands operands;
  for (MutableOperandRange range : ranges)
    for (OpOperand &operand : range)
      operands.push_back(&operand);
  return operands;
}

Operands RecurrenceOp::getPackedOperands() {
  return collect({getSequencesMutable(), getInitialMutable(), getDestinationsMutable()});
}

Operands ChainOp::getPackedOperands() {
  return collect(
      {getSavedMutable(), getSeedsMutable(), getInjectedMutable(), getDestinationsMutable()});
}

Operands TransitionOp::getPackedOperands() {
  return collect({getSavedMutable(), getInjectedMutable(), getDestinationMutable()});
}

Operands FactoredTransitionOp::getPackedOperands() {
  return collect({getScalesMutable(), getInjectedMutable(), getDestinationMutable()});
}

Operands ComposeTransitionsOp::getPackedOperands() {
  return collect({getFirstMutable(), getSecondMutable(), getDestinationMutable()});
}

Operands ApplyTransitionOp::getPackedOperands() {
  return collect({getTransitionMutable(), getCotangentMutable(), getDestinationMutable()});
}

Operands OuterSumOp::getPackedOperands() { return {&getLhsMutable(), &getRhsMutable()}; }

Operands StepSumOp::getPackedOperands() { return {&getSequenceMutable()}; }

Operands PackLanesOp::getPackedOperands() { return collect(getDestinationMutable()); }

Operands UnpackLanesOp::getPackedOperands() { return {&getSourceMutable()}; }
