//===- LaunchRecurrence.cpp - a block of threads for each sample ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A block keeps the states of its sample in shared memory, twice: a step reads one
// copy and writes the other, so that one barrier separates two steps. One launch
// runs all of T.
//
//===----------------------------------------------------------------------===//

#include "BPPSAToGPU.h"
#include "Steps/StepOutputs.h"
#include "Steps/StepRing.h"

using namespace mlir;
using namespace bppsa;

namespace {
class RecurrenceLaunch {
public:
  RecurrenceLaunch(RecurrenceOp op, BodyRowEmitter emitter, int64_t stages)
      : op(op), emitter(std::move(emitter)), loc(op.getLoc()),
        ring(loc, op.getSequences(), stages) {}

  void launch() {
    OpBuilder builder(op);
    numSteps = getDim(builder, loc, op.getSequences()[0], 0);
    numSamples = getDim(builder, loc, op.getSequences()[0], 1);
    if (op.getInitial().empty())
      launchIndependentSteps(builder);
    else
      launchSteps(builder);
  }

private:
  void launchIndependentSteps(OpBuilder &builder) {
    Value size = getIndex(builder, loc, cost::stepsOfBlock);
    Value groups = arith::CeilDivUIOp::create(builder, loc, numSteps, size);
    emitLaunch(builder, loc, mulIndex(builder, loc, numSamples, groups), emitter.getNumThreads(),
               emitter.getSharedTypes(), [&](OpBuilder &nested, const LaunchedThread &thread) {
                 emitter.begin(nested, loc, thread, thread.shared);
                 SmallVector<Value> digits =
                     splitIndex(nested, loc, thread.block, {Value(), numSamples});
                 Value first = mulIndex(nested, loc, digits[0], size);
                 Value last = minIndex(nested, loc,
                                       addIndex(nested, loc, first, cost::stepsOfBlock), numSteps);
                 emitLoop(nested, loc, first, last, [&](OpBuilder &inner, Value step) {
                   SmallVector<Place> arguments;
                   SmallVector<SmallVector<Place, 2>> results;
                   for (Value sequence : op.getSequences())
                     arguments.push_back({sequence, {step, digits[1]}});
                   for (Value output : op.getDestinations())
                     results.push_back({Place{output, {step, digits[1]}}});
                   emitter.emitStep(inner, loc, arguments, results);
                   emitBarrier(inner, loc);
                 });
               });
  }

  void launchSteps(OpBuilder &builder) {
    SmallVector<MemRefType> shared = emitter.getSharedTypes(), rings = ring.getSharedTypes();
    size_t numScratch = shared.size();
    llvm::append_range(shared, rings);
    for (Value initial : op.getInitial()) {
      auto type = cast<MemRefType>(initial.getType());
      shared.push_back(MemRefType::get({2, padRows(type.getDimSize(1))}, type.getElementType()));
    }
    emitLaunch(builder, loc, numSamples, emitter.getNumThreads(), shared,
               [&](OpBuilder &nested, const LaunchedThread &thread) {
                 emitter.begin(nested, loc, thread, thread.shared.take_front(numScratch));
                 ValueRange arrays = thread.shared.drop_front(numScratch);
                 ring.begin(nested, thread, arrays.take_front(rings.size()), thread.block,
                            getIndex(nested, loc, 0), numSteps,
                            [this](OpBuilder &b, Value position) { return getStep(b, position); });
                 emitSteps(nested, thread, arrays.drop_front(rings.size()));
               });
  }

  void emitSteps(OpBuilder &builder, const LaunchedThread &thread, ValueRange states) {
    Value zero = getIndex(builder, loc, 0), one = getIndex(builder, loc, 1);
    Value start = op.getReverse() ? numSteps : zero;
    for (auto [initial, state, trajectory] :
         llvm::zip(op.getInitial(), states, op.getDestinations()))
      emitRows(builder, loc, thread, cast<MemRefType>(initial.getType()).getDimSize(1),
               [&, initial = initial, state = state, trajectory = trajectory](OpBuilder &nested,
                                                                              Value row) {
                 Value value = Place{initial, {thread.block}}.load(nested, loc, row);
                 Place{state, {zero}}.store(nested, loc, value, row);
                 Place{trajectory, {start, thread.block}}.store(nested, loc, value, row);
               });
    emitBarrier(builder, loc);
    StepOutputs outputs(loc, op.getDestinations(), op.getReverse() ? 0 : states.size());
    SmallVector<Value> carried =
        outputs.begin(builder, thread.block, getStep(builder, zero), numSteps, op.getReverse());
    emitFold(builder, loc, zero, numSteps, carried,
             [&](OpBuilder &nested, Value position, ValueRange values) {
               Value before = arith::AndIOp::create(nested, loc, position, one);
               Value after = arith::XOrIOp::create(nested, loc, before, one);
               SmallVector<Place> arguments = ring.getPlaces(nested, position);
               SmallVector<SmallVector<Place, 2>> results;
               for (const Place &place :
                    outputs.getPlaces(nested, getStep(nested, position), values))
                 results.push_back({place});
               for (auto [number, state] : llvm::enumerate(states)) {
                 arguments.push_back({state, {before}});
                 results[number].insert(results[number].begin(), Place{state, {after}});
               }
               emitter.emitStep(nested, loc, arguments, results, {}, {},
                                [&](OpBuilder &inside) { ring.request(inside, position); });
               ring.wait(nested);
               emitBarrier(nested, loc);
               return outputs.advance(nested, position, values);
             });
  }

  Value getStep(OpBuilder &builder, Value position) {
    return getRecurrenceStep(builder, op, numSteps, position);
  }

  RecurrenceOp op;
  BodyRowEmitter emitter;
  Location loc;
  StepRing ring;
  Value numSteps, numSamples;
};
} // namespace

LogicalResult bppsa::launchRecurrence(RecurrenceOp op) {
  GPUMappingAttr mapping = getMapping(op);
  if (mapping.is(GPUKernel::TiledProduct))
    return launchProducts(op, mapping.getPrecision());
  if (mapping.is(GPUKernel::Cooperative))
    return launchCooperatively(op, mapping);
  FailureOr<BodyRowEmitter> emitter =
      BodyRowEmitter::create(op.getBody().front(), op.getCaptures(), mapping);
  if (failed(emitter))
    return failure();
  RecurrenceLaunch(op, std::move(*emitter), mapping.getStages()).launch();
  return success();
}
