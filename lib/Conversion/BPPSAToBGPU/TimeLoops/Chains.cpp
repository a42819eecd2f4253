//===- Chains.cpp - kernels of chains -------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Chains.h"
#include "../../../Codegen/GPU/Launch.h"
#include "../../../Codegen/GPU/LinkSteps.h"
#include "../../../Codegen/GPU/ParallelLoops.h"
#include "LinkLoop.h"

using namespace mlir;
using namespace bppsa;

static SmallVector<Value> loadSeeds(OpBuilder &builder, Location loc, const LinkLoop &links,
                                    ValueRange seeds, Value sample) {
  return links.makeCotangents(builder, [&](OpBuilder &inThread, size_t state, Value row) {
    return Place{seeds[state], {sample}}.load(inThread, loc, row);
  });
}

static void storeCotangents(OpBuilder &builder, Location loc, const LinkLoop &links,
                            ValueRange cotangents, ValueRange arrays, Value sample) {
  for (auto [cotangent, array] : llvm::zip_equal(cotangents, arrays)) {
    Place place = {array, {sample}};
    links.forEachRow(builder, cotangent, [&](OpBuilder &inThread, Value row, Value value) {
      place.store(inThread, loc, value, row);
    });
  }
}

LogicalResult bppsa::convertChain(ChainOp op) {
  CotangentLoop loop = getCotangentLoop(op);
  FailureOr<LinkLoop> links = LinkLoop::create(loop, {}, getMapping(op));
  if (failed(links))
    return failure();
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value numSteps = countSteps(builder, loop);
  links->emitKernel(builder, countSamples(builder, loop), [&](OpBuilder &nested, Value sample) {
    links->begin(nested);
    SmallVector<Value> seeds = loadSeeds(nested, loc, *links, loop.seeds, sample);
    Value zero = getIndex(nested, loc, 0);
    SmallVector<Value> last = links->run(nested, {sample, zero, numSteps}, seeds);
    storeCotangents(nested, loc, *links, last, loop.destinations.take_front(last.size()), sample);
  });
  return success();
}

namespace {
class ChainSweep {
public:
  ChainSweep(scf::ForallOp parallel, ChainOp op)
      : parallel(parallel), op(op), loc(op.getLoc()), window(op) {}
  // `getLoop` returns references to vectors of this object.
  ChainSweep(const ChainSweep &) = delete;

  /// Each chain must run one row of the same sequences.
  LogicalResult findWindows();
  LogicalResult convert();

private:
  CotangentLoop getLoop() const;
  void emitRun(OpBuilder &builder, LinkLoop &links, IterationValues values);

  scf::ForallOp parallel;
  ChainOp op;
  Location loc;
  StepWindow window;
  SmallVector<Value> saved, injected, factors;
  SmallVector<Value> destinations;
};
} // namespace

LogicalResult ChainSweep::findWindows() {
  CotangentLoop own = getCotangentLoop(op);
  if (!own.sumWith.empty() && !own.flatSums)
    return op->emitOpError("accumulates sums in a parallel loop, in which each iteration needs its "
                           "own partial sums; use flat_sums");
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

CotangentLoop ChainSweep::getLoop() const {
  CotangentLoop loop = getCotangentLoop(op);
  loop.saved = saved;
  loop.seeds = {};
  loop.injected = injected;
  loop.factors = factors;
  loop.destinations = destinations;
  return loop;
}

LogicalResult ChainSweep::convert() {
  FailureOr<LinkLoop> links = LinkLoop::create(getLoop(), {}, getMapping(op));
  if (failed(links))
    return failure();
  OpBuilder builder(parallel);
  SmallVector<Value> counts = countIterations(builder, parallel);
  Value numBlocks = getIndex(builder, loc, 1);
  for (Value count : counts)
    numBlocks = mulIndex(builder, loc, numBlocks, count);
  counts.front() = Value();
  links->emitKernel(builder, numBlocks, [&](OpBuilder &nested, Value block) {
    SmallVector<Value> digits = splitIndex(nested, loc, block, counts);
    emitRun(nested, *links, IterationValues(nested, parallel, digits));
  });
  return success();
}

void ChainSweep::emitRun(OpBuilder &builder, LinkLoop &links, IterationValues values) {
  CotangentLoop loop = getLoop();
  links.begin(builder, loop.flatSums ? values.copyView(builder, loop.getSums()[0]) : Value());
  SmallVector<Value> seeds = llvm::map_to_vector(
      op.getSeeds(), [&](Value seed) { return values.copyView(builder, seed); });
  Value ownRow = getIndex(builder, loc, 0);
  SmallVector<Value> start = loadSeeds(builder, loc, links, seeds, ownRow);
  auto [first, last] = window.getPositions(builder, loop, values);
  SmallVector<Value> end =
      links.run(builder, {values.get(builder, window.getFirstRow()), first, last}, start);
  // Skip cotangents without readers.
  SmallVector<Value> read, views;
  for (auto [cotangent, view] : llvm::zip(end, loop.destinations))
    if (!view.getDefiningOp<memref::AllocaOp>()) {
      read.push_back(cotangent);
      views.push_back(values.copyView(builder, view));
    }
  storeCotangents(builder, loc, links, read, views, ownRow);
}

LogicalResult bppsa::convertChains(scf::ForallOp loop) {
  return convertOnlyOps<ChainOp, ChainSweep>(loop);
}
