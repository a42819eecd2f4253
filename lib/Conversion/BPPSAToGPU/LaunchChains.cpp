//===- LaunchChains.cpp - chains on windows of steps ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The iterations of a parallel loop are chains of one row each, on windows of the
// same sequences: a block has one of them.
//
//===----------------------------------------------------------------------===//

#include "BPPSAToGPU.h"
#include "ParallelLoops.h"
#include "TimeLoops/BlockLoop.h"

using namespace mlir;
using namespace bppsa;

namespace {
class ChainLaunch {
public:
  ChainLaunch(scf::ForallOp parallel, ChainOp op) : parallel(parallel), op(op), window(op) {}
  // The loop refers to the sequences that are kept here.
  ChainLaunch(const ChainLaunch &) = delete;

  /// Fails after a diagnostic where the chains are not of runs of one row of the same sequences.
  LogicalResult findWindows();
  LogicalResult launch();

private:
  /// The loop over the whole sequences.
  CotangentLoop getLoop() const;
  void emitRun(OpBuilder &builder, BlockLoop &steps, const LaunchedThread &thread,
               IterationValues values);
  void storeCotangents(OpBuilder &builder, BlockLoop &steps, const LaunchedThread &thread,
                       IterationValues &values);

  scf::ForallOp parallel;
  ChainOp op;
  StepWindow window;
  SmallVector<Value> saved, injected, factors;
  /// Those of cotangents and sums are views.
  SmallVector<Value> destinations;
};
} // namespace

LogicalResult ChainLaunch::findWindows() {
  CotangentLoop own = getCotangentLoop(op);
  if (!own.sumWith.empty() && !own.flatSums)
    return op->emitOpError("adds up sums in a parallel loop, each iteration of which must have "
                           "parts of its own; use flat_sums");
  SmallVector<Value> emitted;
  if (failed(window.add(own.saved, saved)) || failed(window.add(own.injected, injected)) ||
      failed(window.add(own.factors, factors)) || failed(window.add(own.getEmitted(), emitted)))
    return failure();
  if (cast<MemRefType>(op.getSaved()[0].getType()).getDimSize(1) != 1)
    return op->emitOpError("takes more than one row in an iteration of a parallel loop; run "
                           "bppsa-expand-scan with whole-levels");
  llvm::append_range(destinations, own.destinations.take_front(own.getNumStates()));
  llvm::append_range(destinations, emitted);
  llvm::append_range(destinations, own.getSums());
  return success();
}

CotangentLoop ChainLaunch::getLoop() const {
  CotangentLoop loop = getCotangentLoop(op);
  loop.saved = saved;
  loop.seeds = {};
  loop.injected = injected;
  loop.factors = factors;
  loop.destinations = destinations;
  return loop;
}

LogicalResult ChainLaunch::launch() {
  FailureOr<BlockLoop> steps = BlockLoop::create(getLoop(), {}, getMapping(op));
  if (failed(steps))
    return failure();
  OpBuilder builder(parallel);
  Location loc = op.getLoc();
  SmallVector<Value> counts = countIterations(builder, parallel);
  Value numBlocks = getIndex(builder, loc, 1);
  for (Value count : counts)
    numBlocks = mulIndex(builder, loc, numBlocks, count);
  counts.front() = Value();
  steps->launch(builder, numBlocks, [&](OpBuilder &nested, const LaunchedThread &thread) {
    SmallVector<Value> digits = splitIndex(nested, loc, thread.block, counts);
    emitRun(nested, *steps, thread, IterationValues(nested, parallel, digits));
  });
  return success();
}

void ChainLaunch::emitRun(OpBuilder &builder, BlockLoop &steps, const LaunchedThread &thread,
                          IterationValues values) {
  Location loc = op.getLoc();
  CotangentLoop loop = getLoop();
  if (loop.flatSums)
    steps.keepSumsIn(builder, {values.copyView(builder, loop.getSums()[0]), {}});
  SmallVector<Value> seeds = llvm::map_to_vector(
      op.getSeeds(), [&](Value seed) { return values.copyView(builder, seed); });
  Value ownRow = getIndex(builder, loc, 0);
  steps.start(builder, thread, [&](OpBuilder &inside, Value row) {
    return loadOfStates(inside, loop, seeds, ownRow, row);
  });
  auto [first, last] = window.getPositions(builder, loop, values);
  steps.run(builder, values.get(builder, window.getFirstRow()), first, last);
  storeCotangents(builder, steps, thread, values);
}

/// But for those that nobody reads, which an iteration has memory of its own for.
void ChainLaunch::storeCotangents(OpBuilder &builder, BlockLoop &steps,
                                  const LaunchedThread &thread, IterationValues &values) {
  CotangentLoop loop = getLoop();
  SmallVector<Value> cotangents;
  for (Value view : loop.destinations.take_front(loop.getNumStates()))
    cotangents.push_back(view.getDefiningOp<memref::AllocaOp>() ? Value()
                                                                : values.copyView(builder, view));
  if (llvm::none_of(cotangents, [](Value view) { return static_cast<bool>(view); }))
    return;
  Value ownRow = getIndex(builder, op.getLoc(), 0);
  steps.finish(builder, thread, [&](OpBuilder &inside, Value row, Value value) {
    storeToStates(inside, loop, cotangents, ownRow, row, value);
  });
}

LogicalResult bppsa::launchChains(scf::ForallOp loop) {
  return launchOnlyOps<ChainOp, ChainLaunch>(loop);
}
