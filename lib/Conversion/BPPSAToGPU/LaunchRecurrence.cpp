//===- LaunchRecurrence.cpp - a block of threads for each sample ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A block keeps the states of its sample in shared memory, twice: a step reads one
// copy and writes the other, so that one barrier separates two steps. One launch
// walks all of T.
//
//===----------------------------------------------------------------------===//

#include "../Bodies/BodyRewrites.h"
#include "BPPSAToGPU.h"
#include "Steps/StepRing.h"

using namespace mlir;
using namespace bppsa;

/// Steps that a block takes where steps are independent.
static constexpr int64_t kStepsPerBlock = 32;

namespace {
class RecurrenceLaunch {
public:
  RecurrenceLaunch(RecurrenceOp op, UnitEmitter emitter)
      : op(op), emitter(std::move(emitter)), loc(op.getLoc()),
        ring(loc, op.getSequences(), cost::mostRingBytes) {}

  void launch() {
    OpBuilder builder(op);
    numSteps = getDim(builder, loc, op.getSequences()[0], 0);
    numSamples = getDim(builder, loc, op.getSequences()[0], 1);
    if (op.getInitial().empty())
      launchIndependentSteps(builder);
    else
      launchWalk(builder);
  }

private:
  void launchIndependentSteps(OpBuilder &builder) {
    Value size = getIndex(builder, loc, kStepsPerBlock);
    Value groups = arith::CeilDivUIOp::create(builder, loc, numSteps, size);
    emitLaunch(builder, loc, mulIndex(builder, loc, numSamples, groups), emitter.getNumThreads(),
               emitter.getSharedTypes(), [&](OpBuilder &nested, const LaunchedThread &thread) {
                 emitter.begin(nested, loc, thread, thread.shared);
                 SmallVector<Value> digits =
                     splitIndex(nested, loc, thread.block, {Value(), numSamples});
                 Value first = mulIndex(nested, loc, digits[0], size);
                 Value last =
                     minIndex(nested, loc, addIndex(nested, loc, first, kStepsPerBlock), numSteps);
                 emitLoop(nested, loc, first, last, [&](OpBuilder &inner, Value step) {
                   SmallVector<Place> read;
                   for (Value sequence : op.getSequences())
                     read.push_back({sequence, {step, digits[1]}});
                   emitStep(inner, digits[1], step, Value(), read, {}, {});
                   emitBarrier(inner, loc);
                 });
               });
  }

  void launchWalk(OpBuilder &builder) {
    SmallVector<MemRefType> shared = emitter.getSharedTypes(), rings = ring.getSharedTypes();
    size_t numScratch = shared.size();
    llvm::append_range(shared, rings);
    for (Value initial : op.getInitial()) {
      auto type = cast<MemRefType>(initial.getType());
      shared.push_back(
          MemRefType::get({2, type.getDimSize(1) + kSpareRows}, type.getElementType()));
    }
    emitLaunch(builder, loc, numSamples, emitter.getNumThreads(), shared,
               [&](OpBuilder &nested, const LaunchedThread &thread) {
                 emitter.begin(nested, loc, thread, thread.shared.take_front(numScratch));
                 ValueRange arrays = thread.shared.drop_front(numScratch);
                 ring.begin(nested, thread, arrays.take_front(rings.size()), thread.block,
                            getIndex(nested, loc, 0), numSteps,
                            [this](OpBuilder &b, Value position) { return getStep(b, position); });
                 emitWalk(nested, thread, arrays.drop_front(rings.size()));
               });
  }

  void emitWalk(OpBuilder &builder, const LaunchedThread &thread, ValueRange states) {
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
    emitLoop(builder, loc, zero, numSteps, [&](OpBuilder &nested, Value position) {
      Value before = arith::AndIOp::create(nested, loc, position, one);
      Value after = arith::XOrIOp::create(nested, loc, before, one);
      SmallVector<Place> from, to;
      for (Value state : states) {
        from.push_back({state, {before}});
        to.push_back({state, {after}});
      }
      Value step = getStep(nested, position);
      Value slot = op.getReverse() ? step : addIndex(nested, loc, position, 1);
      emitStep(nested, thread.block, step, slot, ring.getPlaces(nested, position), from, to);
      ring.request(nested, position);
      ring.wait(nested);
      emitBarrier(nested, loc);
    });
  }

  Value getStep(OpBuilder &builder, Value position) {
    return getRecurrenceStep(builder, op, numSteps, position);
  }

  /// Emits step `step` of `sample`, the elements of whose sequences are at `read`; new
  /// states also go to slot `slot` of their trajectories.
  void emitStep(OpBuilder &builder, Value sample, Value step, Value slot, ArrayRef<Place> read,
                ArrayRef<Place> from, ArrayRef<Place> to) {
    SmallVector<Place> arguments(read);
    SmallVector<SmallVector<Place, 2>> results;
    arguments.append(from.begin(), from.end());
    for (auto [state, trajectory] : llvm::zip(to, op.getDestinations()))
      results.push_back({state, Place{trajectory, {slot, sample}}});
    for (Value output : op.getDestinations().drop_front(to.size()))
      results.push_back({Place{output, {step, sample}}});
    emitter.emitStep(builder, loc, arguments, results);
  }

  RecurrenceOp op;
  UnitEmitter emitter;
  Location loc;
  StepRing ring;
  Value numSteps, numSamples;
};
} // namespace

LogicalResult bppsa::launchRecurrence(RecurrenceOp op, TensorPrecision precision) {
  Block &body = op.getBody().front();
  fuseProductSums(body);
  if (launchProducts(op, precision))
    return success();
  FailureOr<bool> isLaunched = launchWithoutInputs(op, precision);
  if (failed(isLaunched) || *isLaunched)
    return isLaunched;
  if (launchOnGrid(op))
    return success();
  FailureOr<UnitEmitter> emitter = UnitEmitter::create(body, op.getCaptures());
  if (failed(emitter))
    return failure();
  RecurrenceLaunch(op, std::move(*emitter)).launch();
  return success();
}
