//===- SegmentedLoops.cpp - loops that keep residuals of a segment --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Segments are inside row blocks, so gradients are bitwise independent of the number of segments.
//
//===----------------------------------------------------------------------===//

#include "SegmentedLoops.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

using namespace mlir;
using namespace bppsa;

class SegmentedLoops::Writer : public LoopLowering {
public:
  Writer(SegmentedLoops &loops, Operation *op, const SteadyStates &steady, ValueRange captures)
      : LoopLowering(op, steady, loops.plan.forward.getSequences(), loops.plan.forward.getInitial(),
                     captures, loops.plan.forward.getSteps()),
        loops(loops), plan(loops.plan), forward(plan.forward),
        numStates(forward.getInitial().size()) {}

  void writeForward(MemoryShare share);
  void writeBackward();

private:
  struct Segment {
    Value number, firstStep, numSteps;
    LoopLikeOpInterface outermost;
  };

  void chooseSegments(MemoryShare share);
  Segment getSegment(Value number, LoopLikeOpInterface outermost);
  Value getStep(const Segment &segment, Value local);
  Type getType(unsigned result) {
    return forward.getBody().front().getTerminator()->getOperand(result).getType();
  }
  SmallVector<Value> writeStep(const Segment &segment, RowMapper &mapper, Value local,
                               ArrayRef<unsigned> results, ValueRange arrays);
  SmallVector<Value> runSegment(const Segment &segment, ValueRange carried);
  SmallVector<Value> recomputeSegment(const Segment &segment, ValueRange buffers);
  SmallVector<Value> runBackwardSegment(const Segment &segment, ArrayRef<unsigned> results,
                                        ValueRange buffers, ValueRange carried);
  SmallVector<unsigned> getBuffered() const;

  SegmentedLoops &loops;
  SegmentPlan &plan;
  RecurrenceOp forward;
  size_t numStates;
};

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

void SegmentedLoops::Writer::chooseSegments(MemoryShare share) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value samples = getValueOrCreateConstantIndexOp(builder, loc, rows);
  SmallVector<Value> sizes = {numSteps,
                              samples,
                              constant(plan.stepBytes),
                              constant(plan.stateBytes),
                              constant(share.totalStepBytes),
                              constant(share.limit)};
  loops.segmentSteps =
      func::CallOp::create(builder, loc, kSegmentSteps, TypeRange(builder.getIndexType()), sizes)
          .getResult(0);
  loops.numSegments = arith::CeilDivSIOp::create(builder, loc, numSteps, loops.segmentSteps);
  loops.numSteps = numSteps;
  loops.rows = rows;
}

SegmentedLoops::Writer::Segment SegmentedLoops::Writer::getSegment(Value number,
                                                                   LoopLikeOpInterface outermost) {
  Value first = arith::MulIOp::create(builder, loc, number, loops.segmentSteps);
  Value count = arith::MinSIOp::create(builder, loc, loops.segmentSteps, subtract(numSteps, first));
  return {number, first, count, outermost};
}

Value SegmentedLoops::Writer::getStep(const Segment &segment, Value local) {
  Value step = add(segment.firstStep, local);
  return forward.getReverse() ? subtract(subtract(numSteps, one), step) : step;
}

SmallVector<unsigned> SegmentedLoops::Writer::getBuffered() const {
  SmallVector<unsigned> buffered;
  for (auto [i, isBuffered] : llvm::enumerate(plan.isBuffered))
    if (isBuffered)
      buffered.push_back(i);
  return buffered;
}

SmallVector<Value> SegmentedLoops::Writer::writeStep(const Segment &segment, RowMapper &mapper,
                                                     Value local, ArrayRef<unsigned> results,
                                                     ValueRange arrays) {
  Value step = getStep(segment, local), next = add(step, one);
  Value before = forward.getReverse() ? next : step, after = forward.getReverse() ? step : next;
  ValueRange yielded = forward.getBody().front().getTerminator()->getOperands();
  emitCell(forward, mapper, step, [&](size_t state) {
    const unsigned *found = llvm::find(results, state);
    if (found == results.end())
      return readInput(loops.arrays[state], getType(state), before);
    return readCarried(arrays[found - results.begin()], getType(state),
                       plan.isBuffered[state] ? local : before);
  });
  SmallVector<Value> written;
  for (auto [result, array] : llvm::zip_equal(results, arrays)) {
    bool isState = result < numStates;
    Value slot =
        plan.isBuffered[result] ? (isState ? add(local, one) : local) : (isState ? after : step);
    written.push_back(write(mapper.getRows(yielded[result]), array, getType(result), slot));
  }
  return written;
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// Carries all results, then the states at segment starts.
SmallVector<Value> SegmentedLoops::Writer::runSegment(const Segment &segment, ValueRange carried) {
  size_t numResults = forward->getNumResults();
  SmallVector<Value> arrays(carried.take_front(numResults)), starts(carried.drop_front(numResults));
  SmallVector<unsigned> all(llvm::to_vector(llvm::seq<unsigned>(0, numResults)));
  SmallVector<unsigned> states;
  for (unsigned i = 0; i < numStates; ++i)
    if (plan.isBuffered[i])
      states.push_back(i);
  for (auto [state, start] : llvm::zip_equal(states, starts))
    arrays[state] = write(readCarried(start, getType(state), segment.number), arrays[state],
                          getType(state), zero);
  arrays = createStepLoop(segment.numSteps, arrays, segment.outermost,
                          [&](RowMapper &mapper, Value local, ValueRange now) {
                            return writeStep(segment, mapper, local, all, now);
                          });
  Value following = add(segment.number, one);
  for (auto [state, start] : llvm::zip_equal(states, starts))
    start = write(readCarried(arrays[state], getType(state), segment.numSteps), start,
                  getType(state), following);
  llvm::append_range(arrays, starts);
  return arrays;
}

void SegmentedLoops::Writer::writeForward(MemoryShare share) {
  chooseSegments(share);
  // Callers provide this memory, so the number of steps must bound its size.
  auto atMostAllSteps = [&](Value count) {
    return arith::MinSIOp::create(builder, loc, count, numSteps).getResult();
  };
  Value steps = atMostAllSteps(loops.segmentSteps);
  Value slots = add(steps, one), numSlots = add(numSteps, one);
  SmallVector<WrittenByRows> carried;
  for (auto [i, result] : llvm::enumerate(forward->getResults())) {
    Type type = getType(i);
    bool isState = i < numStates;
    auto whole = cast<RankedTensorType>(result.getType());
    Value array = plan.isBuffered[i] ? createArray(type, isState ? slots : steps)
                                     : createArray(type, isState ? numSlots : numSteps, whole);
    if (isState && !plan.isBuffered[i])
      array = write(forward.getInitial()[i], array, type, forward.getReverse() ? numSteps : zero);
    carried.push_back({array, 1});
  }
  Value numStarts = add(atMostAllSteps(loops.numSegments), one);
  loops.starts.assign(numStates, Value());
  for (unsigned i = 0; i < numStates; ++i)
    if (plan.isBuffered[i])
      carried.push_back(
          {write(forward.getInitial()[i], createArray(getType(i), numStarts), getType(i), zero),
           1});
  SmallVector<Value> results =
      createBlocks(carried, /*sumTypes=*/{}, [&](ValueRange arrays, LoopLikeOpInterface block) {
        return createFor(loops.numSegments, arrays,
                         [&](Value number, ValueRange now, LoopLikeOpInterface loop) {
                           return runSegment(getSegment(number, block ? block : loop), now);
                         });
      });
  ArrayRef<Value> starts = ArrayRef(results).drop_front(forward->getNumResults());
  for (unsigned i = 0; i < numStates; ++i)
    if (plan.isBuffered[i]) {
      loops.starts[i] = starts.front();
      starts = starts.drop_front();
    }
  results.truncate(forward->getNumResults());
  loops.arrays = results;
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// Recomputes a segment. The forward part already computed the last segment, for which the loop
/// over steps is empty.
SmallVector<Value> SegmentedLoops::Writer::recomputeSegment(const Segment &segment,
                                                            ValueRange buffers) {
  SmallVector<unsigned> results = getBuffered();
  SmallVector<Value> arrays(buffers);
  for (auto [result, array] : llvm::zip_equal(results, arrays))
    if (result < numStates)
      array = write(readInput(loops.starts[result], getType(result), segment.number), array,
                    getType(result), zero);
  Value last = subtract(loops.numSegments, one);
  Value isLast =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, segment.number, last);
  Value count = arith::SelectOp::create(builder, loc, isLast, zero, segment.numSteps);
  return createStepLoop(count, arrays, segment.outermost,
                        [&](RowMapper &mapper, Value local, ValueRange now) {
                          return writeStep(segment, mapper, local, results, now);
                        });
}

SmallVector<Value> SegmentedLoops::Writer::runBackwardSegment(const Segment &segment,
                                                              ArrayRef<unsigned> results,
                                                              ValueRange buffers,
                                                              ValueRange carried) {
  ChainOp chain = plan.backward;
  Value last = subtract(segment.numSteps, one);
  auto emitStep = [&](RowMapper &mapper, Value iteration, ValueRange now) {
    Value local = subtract(last, iteration), step = getStep(segment, local);
    return emitLink(chain, mapper, step, now, [&](size_t i) {
      Type type = chain.getBody().getArgument(i).getType();
      std::optional<SegmentPlan::Source> source = plan.sources[i];
      if (!source)
        return readInput(chain.getSaved()[i], type, step);
      Value buffer = buffers[llvm::find(results, source->result) - results.begin()];
      return readCarried(buffer, type, source->afterStep ? add(local, one) : local);
    });
  };
  return createStepLoop(segment.numSteps, carried, segment.outermost, emitStep);
}

void SegmentedLoops::Writer::writeBackward() {
  ChainOp chain = plan.backward;
  SmallVector<unsigned> results = getBuffered();
  SmallVector<WrittenByRows> carried = createChainArrays(chain);
  size_t numArrays = carried.size(), numBuffers = results.size();
  for (unsigned result : results)
    carried.push_back({loops.arrays[result], 1});
  auto emitSegment = [&](Value iteration, ValueRange now, LoopLikeOpInterface outermost) {
    Value number = subtract(subtract(loops.numSegments, one), iteration);
    Segment segment = getSegment(number, outermost);
    SmallVector<Value> link(now.take_front(numArrays));
    llvm::append_range(link, now.drop_front(numArrays + numBuffers));
    SmallVector<Value> buffers = recomputeSegment(segment, now.slice(numArrays, numBuffers));
    link = runBackwardSegment(segment, results, buffers, link);
    link.insert(link.begin() + numArrays, buffers.begin(), buffers.end());
    return link;
  };
  SmallVector<Value> written = createBlocks(
      carried, chain.getSums().getTypes(), [&](ValueRange arrays, LoopLikeOpInterface block) {
        return createFor(loops.numSegments, arrays,
                         [&](Value iteration, ValueRange now, LoopLikeOpInterface loop) {
                           return emitSegment(iteration, now, block ? block : loop);
                         });
      });
  // Parallel loops write in place only arrays with later uses.
  for (Value buffer : ArrayRef(written).slice(numArrays, numBuffers))
    bufferization::DeallocTensorOp::create(builder, loc, buffer);
  written.erase(written.begin() + numArrays, written.begin() + numArrays + numBuffers);
  replace(chain, written);
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

void SegmentedLoops::lowerForward(MemoryShare share, const SteadyStates &steady) {
  RecurrenceOp loop = plan.forward;
  Writer(*this, loop, steady, loop.getCaptures()).writeForward(share);
  for (auto [slice, state] : plan.finalStates) {
    OpBuilder builder(slice);
    SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
    offsets[0] = numSegments;
    slice.replaceAllUsesWith(
        tensor::ExtractSliceOp::create(builder, slice.getLoc(), slice.getType(), starts[state],
                                       offsets, slice.getMixedSizes(), slice.getMixedStrides())
            .getResult());
    slice.erase();
  }
  for (auto [i, result] : llvm::enumerate(loop->getResults())) {
    if (plan.isBuffered[i])
      continue;
    Value &array = arrays[i];
    if (array.getType() != result.getType()) {
      OpBuilder builder(loop);
      array = tensor::CastOp::create(builder, loop.getLoc(), result.getType(), array);
    }
    result.replaceAllUsesWith(array);
  }
}

void SegmentedLoops::lowerBackward(const SteadyStates &steady) {
  Writer(*this, plan.backward, steady, plan.backward.getCaptures()).writeBackward();
  eraseForward();
}

/// Remaining readers of buffered results are sizes and slices of trajectories.
void SegmentedLoops::eraseForward() {
  SmallVector<Value> unread(plan.forward->getResults());
  SmallVector<Operation *> dead;
  while (!unread.empty()) {
    Value array = unread.pop_back_val();
    auto result = dyn_cast<OpResult>(array);
    bool isTrajectory = result.getOwner() == plan.forward &&
                        result.getResultNumber() < plan.forward.getInitial().size();
    for (Operation *user : llvm::make_early_inc_range(array.getUsers())) {
      dead.push_back(user);
      auto dim = dyn_cast<tensor::DimOp>(user);
      if (!dim) {
        llvm::append_range(unread, user->getResults());
        continue;
      }
      OpBuilder builder(dim);
      Value size = numSteps;
      int64_t number = *dim.getConstantIndex();
      if (number == 1)
        size = getValueOrCreateConstantIndexOp(builder, dim.getLoc(), rows);
      else if (number > 1)
        size = arith::ConstantIndexOp::create(
            builder, dim.getLoc(), cast<RankedTensorType>(array.getType()).getDimSize(number));
      else if (isTrajectory)
        size = arith::AddIOp::create(builder, dim.getLoc(), size,
                                     arith::ConstantIndexOp::create(builder, dim.getLoc(), 1));
      dim.replaceAllUsesWith(size);
    }
  }
  for (Operation *op : llvm::reverse(dead))
    op->erase();
  plan.forward->erase();
}
