//===- RecomputedLoops.cpp - loops that compute steps again ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Segments begin at whole slabs of steps, and sums go on from segment to segment in all lanes: how
// many there are changes no bit of a gradient.
//
//===----------------------------------------------------------------------===//

#include "RecomputedLoops.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSARunningSums.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace bppsa;

static Value getConstant(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

/// `[blocks, T, N, L]` with any number of steps.
static RankedTensorType getSegmentType(Type whole) {
  auto type = cast<RankedTensorType>(whole);
  SmallVector<int64_t> shape(type.getShape());
  shape[1] = ShapedType::kDynamic;
  return RankedTensorType::get(shape, type.getElementType());
}

/// `[blocks, N, L]` of an array of steps.
static RankedTensorType getStateType(Type whole) {
  auto type = cast<RankedTensorType>(whole);
  return RankedTensorType::get({type.getDimSize(0), type.getDimSize(2), type.getDimSize(3)},
                               type.getElementType());
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

Value RecomputedLoops::addOne(Value index) {
  return arith::AddIOp::create(builder, loc, index, getConstant(builder, loc, 1));
}

/// Asking for a size must not keep an array alive that is packed segment by segment.
static OpFoldResult getSize(OpBuilder &builder, Location loc, Value array, int64_t dim) {
  if (auto pack = array.getDefiningOp<PackLanesOp>())
    if (FailureOr<OpFoldResult> size = reifyDimOfResult(builder, pack, 0, dim); succeeded(size))
      return *size;
  return tensor::getMixedSize(builder, loc, array, dim);
}

void RecomputedLoops::chooseSegments() {
  Value sequence = forward.getSequences()[0];
  numBlocks = getSize(builder, loc, sequence, 0);
  numSteps = getValueOrCreateConstantIndexOp(builder, loc, getSize(builder, loc, sequence, 1));
  int64_t lanes = *forward.getLanes();
  Value samples =
      arith::MulIOp::create(builder, loc, getValueOrCreateConstantIndexOp(builder, loc, numBlocks),
                            getConstant(builder, loc, lanes));
  SmallVector<Value> sizes = {numSteps, samples};
  for (int64_t size : {plan.stepBytes, plan.stateBytes, context.totalStepBytes, context.limit})
    sizes.push_back(getConstant(builder, loc, size));
  segmentSteps =
      func::CallOp::create(builder, loc, kRecomputedSteps, TypeRange(builder.getIndexType()), sizes)
          .getResult(0);
  Value count = arith::CeilDivUIOp::create(builder, loc, numSteps, segmentSteps);
  numSegments = arith::MaxUIOp::create(builder, loc, count, getConstant(builder, loc, 1));
  last = arith::SubIOp::create(builder, loc, numSegments, getConstant(builder, loc, 1));
}

/// Segment `order` in the order of the recurrence. In time they are cut from step 0 on.
RecomputedLoops::Segment RecomputedLoops::getSegment(Value order) {
  Value number = order;
  if (forward.getReverse())
    number = arith::SubIOp::create(builder, loc, last, order);
  Value first = arith::MulIOp::create(builder, loc, number, segmentSteps);
  Value left = arith::SubIOp::create(builder, loc, numSteps, first);
  return {order, first, arith::MinUIOp::create(builder, loc, segmentSteps, left)};
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

/// The offsets and sizes of steps [first, first + count) of a packed sequence.
struct RecomputedLoops::Window {
  SmallVector<OpFoldResult> offsets, sizes, strides;
};

RecomputedLoops::Window RecomputedLoops::getWindow(Value array, Value first, Value count) {
  auto type = cast<RankedTensorType>(array.getType());
  OpFoldResult zero = builder.getIndexAttr(0);
  return {{zero, first, zero, zero},
          {numBlocks, count, builder.getIndexAttr(type.getDimSize(2)),
           builder.getIndexAttr(type.getDimSize(3))},
          SmallVector<OpFoldResult>(4, builder.getIndexAttr(1))};
}

/// The same of the states at the start of segment `order`.
RecomputedLoops::Window RecomputedLoops::getStart(Value starts, Value order) {
  Window window = getWindow(starts, order, order);
  window.offsets = {order, builder.getIndexAttr(0), builder.getIndexAttr(0),
                    builder.getIndexAttr(0)};
  window.sizes[0] = builder.getIndexAttr(1);
  window.sizes[1] = numBlocks;
  return window;
}

Value RecomputedLoops::slice(Value array, Value first, Value count) {
  Window window = getWindow(array, first, count);
  return tensor::ExtractSliceOp::create(builder, loc, getSegmentType(array.getType()), array,
                                        window.offsets, window.sizes, window.strides);
}

Value RecomputedLoops::insert(Value part, Value whole, Value first, Value count) {
  Window window = getWindow(whole, first, count);
  return tensor::InsertSliceOp::create(builder, loc, part, whole, window.offsets, window.sizes,
                                       window.strides);
}

/// The steps of `segment` in `sequence`, which others may have packed.
Value RecomputedLoops::sliceSequence(Value sequence, const Segment &segment) {
  if (!context.packedBySegments.contains(sequence))
    return slice(sequence, segment.first, segment.count);
  auto pack = sequence.getDefiningOp<PackLanesOp>();
  auto plain = cast<RankedTensorType>(pack.getSource().getType());
  SmallVector<OpFoldResult> offsets(3, builder.getIndexAttr(0)),
      strides(3, builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, pack.getSource());
  offsets[0] = segment.first;
  sizes[0] = segment.count;
  auto type = RankedTensorType::get(
      {ShapedType::kDynamic, plain.getDimSize(1), plain.getDimSize(2)}, plain.getElementType());
  Value steps =
      tensor::ExtractSliceOp::create(builder, loc, type, pack.getSource(), offsets, sizes, strides);
  return PackLanesOp::create(builder, loc, getSegmentType(sequence.getType()), steps, Value(),
                             pack.getLanesAttr())
      .getResult();
}

/// The sizes of an array of `type` that the type leaves open, `count` of its second dimension.
SmallVector<Value> RecomputedLoops::getSizes(RankedTensorType type, Value count) {
  SmallVector<Value> sizes;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(size))
      sizes.push_back(dim == 0 ? cast<Value>(numBlocks) : count);
  return sizes;
}

/// An array of its own, which a loop writes step by step.
Value RecomputedLoops::createWhole(Type arrayType, Value count) {
  auto type = cast<RankedTensorType>(arrayType);
  return bufferization::AllocTensorOp::create(builder, loc, type, getSizes(type, count));
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// `loop` on a segment.
template <typename Loop>
static Loop cloneLoop(OpBuilder &builder, Loop loop, const IRMapping &mapping) {
  IRMapping own = mapping;
  auto clone = cast<Loop>(builder.clone(*loop, own));
  for (Value result : clone->getResults())
    if (cast<RankedTensorType>(result.getType()).getRank() == 4)
      result.setType(getSegmentType(result.getType()));
  return clone;
}

/// The recurrence on `segment`, from the states at its start. It is the same each time, with all
/// results: without some its products would be rounded in another way.
RecomputedLoops::Results RecomputedLoops::run(const Segment &segment, ValueRange starts) {
  IRMapping mapping;
  for (Value sequence : forward.getSequences())
    mapping.map(sequence, sliceSequence(sequence, segment));
  SmallVector<Value> initial;
  for (auto [start, state] : llvm::zip_equal(starts, forward.getInitial())) {
    Window window = getStart(start, segment.order);
    initial.push_back(tensor::ExtractSliceOp::create(builder, loc,
                                                     cast<RankedTensorType>(state.getType()), start,
                                                     window.offsets, window.sizes, window.strides));
  }
  RecurrenceOp loop = cloneLoop(builder, forward, mapping);
  // Several states may begin with one value.
  loop.getInitialMutable().assign(initial);
  return Results(loop->getResults());
}

/// The state that a segment leaves behind.
Value RecomputedLoops::getFinalState(Value trajectory, const Segment &segment) {
  Value slot = forward.getReverse() ? getConstant(builder, loc, 0) : segment.count;
  Window window = getWindow(trajectory, slot, slot);
  window.sizes[1] = builder.getIndexAttr(1);
  return tensor::ExtractSliceOp::create(builder, loc, getStateType(trajectory.getType()),
                                        trajectory, window.offsets, window.sizes, window.strides);
}

/// Writes the state at the start of segment `order`.
Value RecomputedLoops::insertStart(Value state, Value starts, Value order) {
  Window window = getStart(starts, order);
  return tensor::InsertSliceOp::create(builder, loc, state, starts, window.offsets, window.sizes,
                                       window.strides);
}

/// Runs `segment` and carries the states at the starts of segments, then what is whole.
RecomputedLoops::Results RecomputedLoops::goOn(const Segment &segment, ValueRange carried) {
  size_t numStates = starts.size();
  Results next(carried);
  Results results = run(segment, carried.take_front(numStates));
  Value following = addOne(segment.order), slots = addOne(segment.count);
  for (size_t i = 0; i < numStates; ++i)
    next[i] = insertStart(getFinalState(results[i], segment), next[i], following);
  size_t whole = numStates;
  for (auto [i, result] : llvm::enumerate(results))
    if (plan.isResultWhole[i]) {
      next[whole] =
          insert(result, next[whole], segment.first, i < numStates ? slots : segment.count);
      ++whole;
    }
  return next;
}

/// A loop over segments whose body `emit` makes.
template <typename Emit>
static ResultRange createLoop(OpBuilder &builder, Location loc, Value count, ValueRange carried,
                              Emit emit) {
  Value zero = getConstant(builder, loc, 0), one = getConstant(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, zero, count, one, carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(builder, loc, emit(loop.getInductionVar(), loop.getRegionIterArgs()));
  return loop.getResults();
}

void RecomputedLoops::lowerForward() {
  size_t numStates = forward.getInitial().size();
  Results carried;
  Value zero = getConstant(builder, loc, 0), numSlots = addOne(numSteps);
  for (Value initial : forward.getInitial()) {
    auto type = cast<RankedTensorType>(initial.getType());
    SmallVector<int64_t> shape = {ShapedType::kDynamic};
    llvm::append_range(shape, type.getShape());
    SmallVector<Value> sizes = {numSegments};
    if (type.isDynamicDim(0))
      sizes.push_back(cast<Value>(numBlocks));
    Value own = bufferization::AllocTensorOp::create(
        builder, loc, RankedTensorType::get(shape, type.getElementType()), sizes);
    carried.push_back(insertStart(initial, own, zero));
  }
  starts = carried;
  for (auto [i, result] : llvm::enumerate(forward->getResults()))
    if (plan.isResultWhole[i])
      carried.push_back(createWhole(result.getType(), i < numStates ? numSlots : numSteps));
  ResultRange left = createLoop(builder, loc, last, carried, [&](Value order, ValueRange now) {
    return goOn(getSegment(order), now);
  });
  starts.assign(left.begin(), left.begin() + numStates);
  Segment segment = getSegment(last);
  lastResults = run(segment, starts);
  size_t whole = numStates;
  for (auto [i, result] : llvm::enumerate(lastResults)) {
    wholes.push_back(Value());
    if (plan.isResultWhole[i])
      wholes.back() = insert(result, left[whole++], segment.first,
                             i < numStates ? addOne(segment.count) : segment.count);
  }
}

/// Reads of what the recurrence leaves, but for those of members.
void RecomputedLoops::replaceForward() {
  Segment segment = getSegment(last);
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

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// The arrays that a sum reads.
static OperandRange getSummed(Operation *sum) {
  return sum->getOperands().take_front(isa<OuterSumOp>(sum) ? 2 : 1);
}

/// What goes on from segment to segment: cotangents, for which there is memory of their own,
/// running sums of zero, then what is whole of what the chain and its readers write.
SmallVector<Value> RecomputedLoops::begin() {
  SmallVector<Value> carried;
  for (Value seed : backward.getSeeds())
    carried.push_back(createWhole(seed.getType(), Value()));
  for (Operation *sum : plan.sums) {
    SmallVector<OpFoldResult> sizes = {numBlocks};
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
      carried.push_back(createWhole(emitted.getType(), numSteps));
  for (Operation *reader : plan.readers)
    for (Value output : reader->getResults())
      carried.push_back(createWhole(output.getType(), numSteps));
  return carried;
}

/// Goes back through `segment` from `seeds`; `results` is what the recurrence has left of it.
RecomputedLoops::Results RecomputedLoops::goBack(const Segment &segment, const Results &results,
                                                 ValueRange seeds, ValueRange carried) {
  IRMapping mapping;
  auto addSequence = [&](Value sequence) {
    auto slots = plan.slots.find(sequence);
    if (mapping.contains(sequence) || sequence.getDefiningOp() == backward)
      return;
    if (slots != plan.slots.end())
      mapping.map(sequence, slice(results[slots->second.state],
                                  getConstant(builder, loc, slots->second.first), segment.count));
    else if (sequence.getDefiningOp() == forward)
      mapping.map(sequence, results[cast<OpResult>(sequence).getResultNumber()]);
    else
      mapping.map(sequence, sliceSequence(sequence, segment));
  };
  llvm::for_each(backward.getSaved(), addSequence);
  llvm::for_each(backward.getInjected(), addSequence);
  Results next;
  ChainOp chain = cloneLoop(builder, backward, mapping);
  // Several states may begin with one value.
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
      next.push_back(
          insert(mapping.lookup(emitted), carried[next.size()], segment.first, segment.count));
  for (Operation *op : plan.readers) {
    auto reader = cast<RecurrenceOp>(op);
    llvm::for_each(reader.getSequences(), addSequence);
    for (Value output : cloneLoop(builder, reader, mapping)->getResults())
      next.push_back(insert(output, carried[next.size()], segment.first, segment.count));
  }
  return next;
}

void RecomputedLoops::lowerBackward() {
  builder.setInsertionPoint(backward);
  Results carried = goBack(getSegment(last), lastResults, backward.getSeeds(), begin());
  ResultRange left = createLoop(builder, loc, last, carried, [&](Value number, ValueRange now) {
    Value left = arith::SubIOp::create(builder, loc, last, addOne(number));
    Segment segment = getSegment(left);
    return goBack(segment, run(segment, starts), now.take_front(backward.getSeeds().size()), now);
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
    auto outer = dyn_cast<OuterSumOp>(sum);
    Value batch = outer ? outer.getBatch() : cast<StepSumOp>(sum).getBatch();
    Value finished = FinishSumsOp::create(builder, sum->getLoc(), sum->getResult(0).getType(),
                                          take(), batch, Value(), backward.getLanesAttr())
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

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

/// Sizes of arrays that go away, from those of the recurrence.
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
  chooseSegments();
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
