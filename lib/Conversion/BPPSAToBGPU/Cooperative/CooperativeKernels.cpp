//===- CooperativeKernels.cpp - cooperative kernels -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CooperativeKernels.h"
#include "../../../Codegen/GPU/Launch.h"
#include "../../../Codegen/GPU/LinkSteps.h"
#include "../TimeLoops/Recurrence.h"
#include "CooperativeLoop.h"

using namespace mlir;
using namespace bppsa;

static LogicalResult emitKernels(OpBuilder &builder, const LoopBody &body,
                                 const LoopArrays &arrays) {
  FailureOr<CooperativeLoop> loop = CooperativeLoop::create(body, getMapping(body.op));
  if (failed(loop))
    return failure();
  loop->emit(builder, arrays);
  return success();
}

LogicalResult bppsa::convertCooperatively(RecurrenceOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  size_t numSequences = op.getSequences().size(), numStates = op.getInitial().size();
  LoopArrays arrays;
  arrays.numSteps = getDim(builder, loc, op.getSequences()[0], 0);
  arrays.numSamples = getDim(builder, loc, op.getSequences()[0], 1);
  arrays.sources = llvm::to_vector(op.getSequences());
  arrays.sources.resize(numSequences + numStates);
  arrays.outputs = llvm::to_vector(op.getDestinations());
  arrays.starts = llvm::to_vector(op.getInitial());
  arrays.captures = op.getCaptures();
  arrays.getStep = [=, numSteps = arrays.numSteps](OpBuilder &nested, Value position) {
    return getRecurrenceStep(nested, op, numSteps, position);
  };
  arrays.reverse = op.getReverse();
  return emitKernels(builder,
                     {op, &op.getBody().front(), op.getCaptures().size(), numSequences, numStates,
                      /*sources=*/{}, /*summed=*/{}},
                     arrays);
}

LogicalResult bppsa::convertCooperatively(ChainOp op) {
  OpBuilder builder(op);
  CotangentLoop loop = getCotangentLoop(op);
  std::unique_ptr<Region> link = cloneLink(loop, {});
  size_t numStates = loop.getNumStates();
  LoopArrays arrays;
  arrays.numSteps = countSteps(builder, loop);
  arrays.numSamples = countSamples(builder, loop);
  arrays.sources = llvm::to_vector(loop.saved);
  arrays.sources.resize(loop.saved.size() + numStates);
  llvm::append_range(arrays.sources, loop.injected);
  // Cotangents are stored only after the last step.
  arrays.outputs.resize(numStates);
  llvm::append_range(arrays.outputs, loop.destinations.drop_front(numStates));
  arrays.starts = llvm::to_vector(loop.seeds);
  arrays.ends = llvm::to_vector(loop.destinations.take_front(numStates));
  arrays.captures = loop.captures;
  arrays.getStep = [=](OpBuilder &nested, Value position) {
    return getStep(nested, loop, position);
  };
  arrays.reverse = loop.reverse;
  return emitKernels(builder, getLoopBody(loop, link->front(), {}), arrays);
}
