//===- LoopExtent.cpp - sizes of the sequences of loops -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LoopExtent.h"

using namespace mlir;
using namespace bppsa;

FailureOr<LoopExtent> bppsa::getLoopExtent(Operation *op, Interpreter &interpreter,
                                           SampleView layout, ValueRange sequences,
                                           ValueRange states, Value steps) {
  LoopExtent extent;
  if (sequences.empty()) {
    extent = {interpreter.getInteger(steps), interpreter.get(states.front()).shape.front()};
    if (extent.steps < 0)
      return op->emitOpError() << "needs a number of steps, found " << extent.steps, failure();
  } else {
    const Array &first = interpreter.get(sequences.front());
    extent = {layout.getNumSteps(first), layout.getNumSamples(first)};
  }
  for (Value value : sequences) {
    const Array &sequence = interpreter.get(value);
    SmallVector<int64_t> features = layout.getValueShape(sequence, /*hasTime=*/true);
    if (ArrayRef<int64_t>(sequence.shape) !=
        ArrayRef<int64_t>(layout.getSequenceShape(extent.steps, extent.samples, features)))
      return op->emitOpError() << "needs sequences of " << extent.steps << " steps and "
                               << extent.samples << " samples, found other sizes",
             failure();
  }
  for (Value value : states) {
    const Array &state = interpreter.get(value);
    SmallVector<int64_t> features = layout.getValueShape(state, /*hasTime=*/false);
    if (ArrayRef<int64_t>(state.shape) !=
        ArrayRef<int64_t>(layout.getStateShape(extent.samples, features)))
      return op->emitOpError() << "needs states of " << extent.samples
                               << " samples, found other sizes",
             failure();
  }
  return extent;
}
