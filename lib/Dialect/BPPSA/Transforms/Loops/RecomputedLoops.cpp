//===- RecomputedLoops.cpp - loops that recompute steps -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Segments begin at slabs and sums continue across them, so gradients are bitwise independent of
// the number of segments.
//
//===----------------------------------------------------------------------===//

#include "RecomputedLoops.h"
#include "bppsa/Dialect/BPPSA/Analysis/RunningSums.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace bppsa;

template <typename Loop>
static Loop cloneLoop(OpBuilder &builder, Loop loop, const IRMapping &mapping) {
  IRMapping own = mapping;
  auto clone = cast<Loop>(builder.clone(*loop, own));
  for (Value result : clone->getResults())
    if (cast<RankedTensorType>(result.getType()).getRank() == 4)
      result.setType(getSegmentType(result.getType()));
  return clone;
}

/// Without some results, products could be rounded differently, so all are computed.
RecomputedLoops::Results RecomputedLoops::run(const Segment &segment, ValueRange starts) {
  IRMapping mapping;
  for (Value sequence : forward.getSequences())
    mapping.map(sequence, segments.sliceSequence(sequence, segment));
  SmallVector<Value> initial;
  for (auto [start, state] : llvm::zip_equal(starts, forward.getInitial()))
    initial.push_back(segments.sliceStart(state.getType(), start, segment.order));
  RecurrenceOp loop = cloneLoop(builder, forward, mapping);
  // Several states may have the same initial value.
  loop.getInitialMutable().assign(initial);
  return Results(loop->getResults());
}

/// Carries the states at segment starts, then complete arrays.
RecomputedLoops::Results RecomputedLoops::runForwardSegment(const Segment &segment,
                                                            ValueRange carried) {
  size_t numStates = starts.size();
  Results next(carried);
  Results results = run(segment, carried.take_front(numStates));
  Value following = segments.addOne(segment.order), slots = segments.addOne(segment.count);
  for (size_t i = 0; i < numStates; ++i)
    next[i] =
        segments.insertStart(segments.sliceFinalState(results[i], segment), next[i], following);
  size_t whole = numStates;
  for (auto [i, result] : llvm::enumerate(results))
    if (plan.isResultComplete[i]) {
      next[whole] = segments.insert(result, next[whole], segment.first,
                                    i < numStates ? slots : segment.count);
      ++whole;
    }
  return next;
}

template <typename Emit>
static ResultRange createLoop(OpBuilder &builder, Location loc, Value count, ValueRange carried,
                              Emit emit) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, zero, count, one, carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(builder, loc, emit(loop.getInductionVar(), loop.getRegionIterArgs()));
  return loop.getResults();
}

void RecomputedLoops::lowerForward() {
  size_t numStates = forward.getInitial().size();
  Results carried;
  Value zero = segments.getConstant(0), numSlots = segments.addOne(segments.getNumSteps());
  for (Value initial : forward.getInitial()) {
    auto type = cast<RankedTensorType>(initial.getType());
    SmallVector<int64_t> shape = {ShapedType::kDynamic};
    llvm::append_range(shape, type.getShape());
    SmallVector<Value> sizes = {segments.getNumSegments()};
    if (type.isDynamicDim(0))
      sizes.push_back(cast<Value>(segments.getNumBlocks()));
    Value own = bufferization::AllocTensorOp::create(
        builder, loc, RankedTensorType::get(shape, type.getElementType()), sizes);
    carried.push_back(segments.insertStart(initial, own, zero));
  }
  starts = carried;
  for (auto [i, result] : llvm::enumerate(forward->getResults()))
    if (plan.isResultComplete[i])
      carried.push_back(
          segments.create(result.getType(), i < numStates ? numSlots : segments.getNumSteps()));
  ResultRange left =
      createLoop(builder, loc, segments.getLast(), carried, [&](Value order, ValueRange now) {
        return runForwardSegment(segments.get(order), now);
      });
  starts.assign(left.begin(), left.begin() + numStates);
  Segment segment = segments.get(segments.getLast());
  lastResults = run(segment, starts);
  size_t whole = numStates;
  for (auto [i, result] : llvm::enumerate(lastResults)) {
    wholes.push_back(Value());
    if (plan.isResultComplete[i])
      wholes.back() =
          segments.insert(result, left[whole++], segment.first,
                          i < numStates ? segments.addOne(segment.count) : segment.count);
  }
}

void RecomputedLoops::replaceForward() {
  Segment segment = segments.get(segments.getLast());
  for (tensor::ExtractSliceOp slice : plan.finalStates) {
    unsigned state = cast<OpResult>(slice.getSource()).getResultNumber();
    SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
    if (!forward.getReverse())
      offsets[1] = segment.count;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(slice);
    Value found =
        tensor::ExtractSliceOp::create(builder, loc, slice.getType(), lastResults[state], offsets,
                                       slice.getMixedSizes(), slice.getMixedStrides());
    slice.replaceAllUsesWith(found);
    slice.erase();
  }
  for (auto [result, whole] : llvm::zip_equal(forward->getResults(), wholes))
    if (whole)
      result.replaceUsesWithIf(whole, [&](OpOperand &use) {
        Operation *user = use.getOwner();
        return user->getNumResults() == 0 || !plan.slots.contains(user->getResult(0));
      });
}

/// Carries separate memory for cotangents, zero sums, and complete arrays of the chain and its
/// readers.
SmallVector<Value> RecomputedLoops::begin() {
  SmallVector<Value> carried;
  for (Value seed : backward.getSeeds())
    carried.push_back(segments.create(seed.getType(), Value()));
  for (Operation *sum : plan.sums) {
    SmallVector<OpFoldResult> sizes = {segments.getNumBlocks()};
    for (Value sequence : getSummed(sum))
      sizes.push_back(tensor::getMixedSize(builder, loc, sequence, 2));
    sizes.push_back(builder.getIndexAttr(*backward.getLanes()));
    Type element = getElementTypeOrSelf(getSummed(sum).front());
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
    Value empty = tensor::EmptyOp::create(builder, loc, sizes, element);
    carried.push_back(linalg::FillOp::create(builder, loc, zero, empty).getResult(0));
  }
  for (auto [emitted, isWhole] : llvm::zip_equal(backward.getEmitted(), plan.isEmittedWhole))
    if (isWhole)
      carried.push_back(segments.create(emitted.getType(), segments.getNumSteps()));
  for (Operation *reader : plan.readers)
    for (Value output : reader->getResults())
      carried.push_back(segments.create(output.getType(), segments.getNumSteps()));
  return carried;
}

RecomputedLoops::Results RecomputedLoops::runBackwardSegment(const Segment &segment,
                                                             const Results &results,
                                                             ValueRange seeds, ValueRange carried) {
  IRMapping mapping;
  auto addSequence = [&](Value sequence) {
    auto slots = plan.slots.find(sequence);
    if (mapping.contains(sequence) || sequence.getDefiningOp() == backward)
      return;
    if (slots != plan.slots.end())
      mapping.map(sequence,
                  segments.slice(results[slots->second.state],
                                 segments.getConstant(slots->second.first), segment.count));
    else if (sequence.getDefiningOp() == forward)
      mapping.map(sequence, results[cast<OpResult>(sequence).getResultNumber()]);
    else
      mapping.map(sequence, segments.sliceSequence(sequence, segment));
  };
  llvm::for_each(backward.getSaved(), addSequence);
  llvm::for_each(backward.getInjected(), addSequence);
  Results next;
  ChainOp chain = cloneLoop(builder, backward, mapping);
  // Several states may have the same seed.
  chain.getSeedsMutable().assign(seeds);
  mapping.map(backward->getResults(), chain->getResults());
  for (Value cotangent : chain.getCotangents())
    next.push_back(bufferization::MaterializeInDestinationOp::create(builder, loc, cotangent,
                                                                     carried[next.size()])
                       .getResult());
  for (Operation *sum : plan.sums) {
    llvm::for_each(getSummed(sum), addSequence);
    SmallVector<Value> summed = llvm::map_to_vector(
        getSummed(sum), [&](Value sequence) { return mapping.lookup(sequence); });
    Value sums = carried[next.size()];
    next.push_back(AddToSumsOp::create(builder, sum->getLoc(), sums.getType(), summed[0],
                                       summed.size() == 2 ? summed[1] : Value(), sums,
                                       backward.getLanesAttr(), backward.getReverseAttr())
                       .getResult());
  }
  for (auto [emitted, isWhole] : llvm::zip_equal(backward.getEmitted(), plan.isEmittedWhole))
    if (isWhole)
      next.push_back(segments.insert(mapping.lookup(emitted), carried[next.size()], segment.first,
                                     segment.count));
  for (Operation *op : plan.readers) {
    auto reader = cast<RecurrenceOp>(op);
    llvm::for_each(reader.getSequences(), addSequence);
    for (Value output : cloneLoop(builder, reader, mapping)->getResults())
      next.push_back(segments.insert(output, carried[next.size()], segment.first, segment.count));
  }
  return next;
}

void RecomputedLoops::lowerBackward() {
  builder.setInsertionPoint(backward);
  Results carried = runBackwardSegment(segments.get(segments.getLast()), lastResults,
                                       backward.getSeeds(), begin());
  ResultRange left =
      createLoop(builder, loc, segments.getLast(), carried, [&](Value number, ValueRange now) {
        Value left =
            arith::SubIOp::create(builder, loc, segments.getLast(), segments.addOne(number));
        Segment segment = segments.get(left);
        return runBackwardSegment(segment, run(segment, starts),
                                  now.take_front(backward.getSeeds().size()), now);
      });
  replaceBackward(left);
}

void RecomputedLoops::replaceBackward(ValueRange carried) {
  auto take = [&] {
    Value value = carried.front();
    carried = carried.drop_front();
    return value;
  };
  for (Value cotangent : backward.getCotangents())
    cotangent.replaceAllUsesWith(take());
  for (Operation *sum : plan.sums) {
    Value finished =
        FinishSumsOp::create(builder, sum->getLoc(), sum->getResult(0).getType(), take(),
                             getSummedBatch(sum), Value(), backward.getLanesAttr())
            .getResult();
    sum->getResult(0).replaceAllUsesWith(finished);
  }
  for (auto [emitted, isWhole] : llvm::zip_equal(backward.getEmitted(), plan.isEmittedWhole))
    if (isWhole)
      emitted.replaceAllUsesWith(take());
  for (Operation *reader : plan.readers)
    for (Value output : reader->getResults())
      output.replaceAllUsesWith(take());
}

static void replaceSizes(RewriterBase &rewriter, Value array) {
  for (Operation *user : llvm::make_early_inc_range(array.getUsers()))
    if (auto dim = dyn_cast<tensor::DimOp>(user)) {
      rewriter.setInsertionPoint(dim);
      FailureOr<OpFoldResult> size =
          reifyDimOfResult(rewriter, array.getDefiningOp(), cast<OpResult>(array).getResultNumber(),
                           *dim.getConstantIndex());
      if (succeeded(size))
        rewriter.replaceOp(dim, getValueOrCreateConstantIndexOp(rewriter, dim.getLoc(), *size));
    }
}

void RecomputedLoops::lower() {
  IRRewriter rewriter(builder.getContext());
  for (auto [slice, slots] : plan.slots)
    replaceSizes(rewriter, slice);
  for (Operation *op : {forward.getOperation(), backward.getOperation()})
    for (Value result : op->getResults())
      replaceSizes(rewriter, result);
  builder.setInsertionPoint(forward);
  segments.choose();
  lowerForward();
  lowerBackward();
  builder.setInsertionPoint(forward);
  replaceForward();
  for (ArrayRef<Operation *> members : {ArrayRef(plan.readers), ArrayRef(plan.sums)})
    for (Operation *member : members)
      member->erase();
  backward->erase();
  for (auto [slice, slots] : plan.slots)
    if (slice.use_empty())
      slice.getDefiningOp()->erase();
    else
      slice.getDefiningOp()->setOperand(0, wholes[slots.state]);
  forward->erase();
}
