//===- JoinSequences.cpp - joins ragged sequences -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Joins sequences of different lengths end to end in fewer rows instead of masking padded steps.
// The cell is reset at the start of each sequence.
//
//===----------------------------------------------------------------------===//

#include "RowArrays.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

namespace bppsa {
#define GEN_PASS_DEF_JOINSEQUENCES
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
/// A recurrence that keeps its states beyond the lengths of samples.
struct RaggedLoop {
  RecurrenceOp loop;
  /// Index of the sequence that is 1 within the length of a sample, else 0.
  unsigned mask;
  Value lengths;
  /// The mask broadcast to a state, and its comparison with zero.
  MatVecOp spread;
  arith::CmpFOp isPart;
};
} // namespace

/// Returns null if `mask`, `[T, B, 1]`, does not compare steps with lengths.
static Value findLengths(Value mask) {
  auto generic = mask.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumDpsInputs() != 1 || generic.getNumResults() != 1)
    return {};
  AffineMap inputMap = generic.getIndexingMapsArray().front(),
            outputMap = generic.getIndexingMapsArray().back();
  if (!outputMap.isIdentity() || inputMap != outputMap.getSubMap({1}))
    return {};
  Block &body = generic.getRegion().front();
  auto element = body.getTerminator()->getOperand(0).getDefiningOp<arith::UIToFPOp>();
  auto compare = element ? element.getIn().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::slt ||
      compare.getRhs() != body.getArgument(0))
    return {};
  auto cast = compare.getLhs().getDefiningOp<arith::IndexCastOp>();
  auto step = cast ? cast.getIn().getDefiningOp<linalg::IndexOp>() : linalg::IndexOp();
  return step && step.getDim() == 0 ? generic.getInputs().front() : Value();
}

static std::optional<RaggedLoop> matchRaggedLoop(RecurrenceOp loop) {
  if (loop.isGraphForm() || loop.getLanes() || !loop.getOutputs().empty() ||
      !loop.getDestinations().empty() || loop.getInitial().empty())
    return std::nullopt;
  Block &body = loop.getBody().front();
  size_t numSequences = loop.getSequences().size();
  RaggedLoop ragged = {loop, 0, {}, {}, {}};
  for (auto [i, next] : llvm::enumerate(body.getTerminator()->getOperands())) {
    auto select = next.getDefiningOp<arith::SelectOp>();
    auto compare = select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
    if (!compare || (ragged.isPart && compare != ragged.isPart) ||
        select.getFalseValue() != body.getArgument(numSequences + i))
      return std::nullopt;
    ragged.isPart = compare;
  }
  if (ragged.isPart.getPredicate() != arith::CmpFPredicate::OGT ||
      !matchPattern(ragged.isPart.getRhs(), m_AnyZeroFloat()))
    return std::nullopt;
  ragged.spread = ragged.isPart.getLhs().getDefiningOp<MatVecOp>();
  auto mask = ragged.spread ? dyn_cast<BlockArgument>(ragged.spread.getVector()) : BlockArgument();
  if (!mask || ragged.spread.getAddend() || !isa<BlockArgument>(ragged.spread.getMatrix()) ||
      mask.getArgNumber() >= numSequences || !mask.hasOneUse())
    return std::nullopt;
  ragged.mask = mask.getArgNumber();
  ragged.lengths = findLengths(loop.getSequences()[ragged.mask]);
  return ragged.lengths ? std::optional(ragged) : std::nullopt;
}

static bool isZero(Value tensor) {
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.getInputs().front(), m_AnyZeroFloat());
  return matchPattern(tensor, m_AnyZeroFloat());
}

/// Makes the body of `ragged` begin with the carried states if the mask is positive, and otherwise
/// with the initial states: the arguments in `starts`, or zero for null.
static void resetStates(RaggedLoop &ragged, ArrayRef<Value> starts, unsigned numSequences) {
  Block &body = *ragged.isPart->getBlock();
  Operation *yield = body.getTerminator();
  OpBuilder builder(yield->getContext());
  for (OpOperand &next : yield->getOpOperands())
    next.set(next.get().getDefiningOp<arith::SelectOp>().getTrueValue());
  Operation *threshold = ragged.isPart.getRhs().getDefiningOp();
  for (Operation *op : {ragged.isPart.getOperation(), ragged.spread.getOperation(), threshold})
    op->moveBefore(&body, body.begin());
  builder.setInsertionPointAfter(ragged.isPart);
  for (auto [i, start] : llvm::enumerate(starts)) {
    BlockArgument state = body.getArgument(numSequences + i);
    Value other = start;
    if (!other)
      other = arith::ConstantOp::create(builder, ragged.loop.getLoc(),
                                        builder.getZeroAttr(state.getType()));
    auto before =
        arith::SelectOp::create(builder, ragged.loop.getLoc(), ragged.isPart, state, other);
    state.replaceAllUsesExcept(before, before);
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

namespace {
struct JoinSequences : public bppsa::impl::JoinSequencesBase<JoinSequences> {
  using JoinSequencesBase::JoinSequencesBase;

  void runOnOperation() override {
    schedules.clear();
    joined.clear();
    SmallVector<RaggedLoop> loops;
    for (auto loop : getOperation().getOps<RecurrenceOp>())
      if (std::optional<RaggedLoop> ragged = matchRaggedLoop(loop))
        loops.push_back(*ragged);
    for (RaggedLoop &ragged : loops)
      join(ragged);
  }

private:
  const SequenceSchedule &getSchedule(RaggedLoop &ragged);
  void join(RaggedLoop &ragged);
  /// If only slices are read, they are replaced one by one.
  void replaceTrajectory(Value samples, Value rows, Value initial, bool reverse, RowArrays &arrays);

  // Layers and directions with equal lengths and steps share a schedule, and inputs are joined
  // once. The first loop dominates later uses.
  llvm::MapVector<std::pair<Value, Value>, SequenceSchedule> schedules;
  llvm::DenseMap<std::pair<Value, Value>, Value> joined;
};
} // namespace

const SequenceSchedule &JoinSequences::getSchedule(RaggedLoop &ragged) {
  OpBuilder builder(ragged.loop);
  Location loc = ragged.loop.getLoc();
  auto mask = ragged.loop.getSequences()[ragged.mask].getDefiningOp<linalg::GenericOp>();
  Value like = mask.getOutputs().front(), steps;
  if (auto empty = like.getDefiningOp<tensor::EmptyOp>())
    steps = dyn_cast<Value>(empty.getMixedSizes().front());
  auto [it, isNew] = schedules.try_emplace({ragged.lengths, steps ? steps : like});
  if (isNew) {
    if (!steps)
      steps = builder.createOrFold<tensor::DimOp>(loc, like, 0);
    it->second = buildSequenceSchedule(builder, loc, ragged.lengths, steps);
  }
  return it->second;
}

void JoinSequences::join(RaggedLoop &ragged) {
  RecurrenceOp loop = ragged.loop;
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  bool reverse = loop.getReverse();
  const SequenceSchedule &schedule = getSchedule(ragged);
  RowArrays rows(builder, loc, schedule);

  SmallVector<Value> sequences, initial, starts;
  for (auto [i, sequence] : llvm::enumerate(loop.getSequences())) {
    if (i == ragged.mask) {
      sequences.push_back(rows.createKeepMask(reverse));
      continue;
    }
    Value &inRows = joined[{sequence, schedule.step}];
    if (!inRows)
      inRows = rows.join(sequence);
    sequences.push_back(inRows);
  }
  SmallVector<Type> types;
  Block &body = loop.getBody().front();
  for (auto [i, state] : llvm::enumerate(loop.getInitial())) {
    Value start;
    if (!isZero(state)) {
      start =
          body.insertArgument(sequences.size(), body.getTerminator()->getOperand(i).getType(), loc);
      sequences.push_back(rows.joinInitial(state, reverse));
    }
    starts.push_back(start);
    SmallVector<OpFoldResult> sizes = {schedule.rows, tensor::getMixedSize(builder, loc, state, 1)};
    Value empty = tensor::EmptyOp::create(builder, loc, sizes, builder.getF32Type());
    Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
    initial.push_back(linalg::FillOp::create(builder, loc, zero, empty).getResult(0));
    auto type = cast<RankedTensorType>(state.getType());
    int64_t numRows = cast<RankedTensorType>(empty.getType()).getDimSize(0);
    types.push_back(RankedTensorType::get({ShapedType::kDynamic, numRows, type.getDimSize(1)},
                                          type.getElementType()));
  }
  auto inRows = RecurrenceOp::create(builder, loc, types, /*outputs=*/TypeRange(), sequences,
                                     initial, loop.getCaptures(), {reverse});
  inRows.getBody().takeBody(loop.getBody());
  resetStates(ragged, starts, sequences.size());
  for (auto [samples, states, state] :
       llvm::zip_equal(loop.getTrajectories(), inRows.getTrajectories(), loop.getInitial())) {
    // The initial state is in the first slot, or in the last if reversed.
    SmallVector<OpFoldResult> offsets(3, builder.getIndexAttr(0)),
        strides(3, builder.getIndexAttr(1)),
        sizes = {schedule.slots, schedule.rows, tensor::getMixedSize(builder, loc, state, 1)};
    offsets[0] = builder.getIndexAttr(reverse ? 0 : 1);
    Value after = tensor::ExtractSliceOp::create(builder, loc, states, offsets, sizes, strides);
    replaceTrajectory(samples, after, state, reverse, rows);
  }
  loop.erase();
}

static OpFoldResult getSamples(OpBuilder &builder, Location loc, Value state) {
  if (auto fill = state.getDefiningOp<linalg::FillOp>())
    if (auto empty = fill.getOutputs().front().getDefiningOp<tensor::EmptyOp>())
      return empty.getMixedSizes().front();
  return tensor::getMixedSize(builder, loc, state, 0);
}

void JoinSequences::replaceTrajectory(Value samples, Value rows, Value initial, bool reverse,
                                      RowArrays &arrays) {
  Location loc = samples.getLoc();
  auto isSlice = [](Operation *user) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    return slice && slice.getType().getRank() == 3 && slice.hasUnitStride();
  };
  for (Operation *user : llvm::make_early_inc_range(samples.getUsers())) {
    if (!isSlice(user))
      continue;
    auto slice = cast<tensor::ExtractSliceOp>(user);
    OpBuilder builder(slice);
    SmallVector<OpFoldResult> offsets = slice.getMixedOffsets(), sizes = slice.getMixedSizes();
    Value slots = arrays.split(builder, rows, initial, offsets[0], sizes[0], reverse);
    bool hasAll = isConstantIntValue(offsets[1], 0) && isConstantIntValue(offsets[2], 0) &&
                  sizes[1] == getSamples(builder, loc, initial) &&
                  sizes[2] == tensor::getMixedSize(builder, loc, initial, 1);
    offsets[0] = builder.getIndexAttr(0);
    if (!hasAll)
      slots = tensor::ExtractSliceOp::create(builder, loc, slice.getType(), slots, offsets, sizes,
                                             slice.getMixedStrides());
    slice.replaceAllUsesWith(
        tensor::CastOp::create(builder, loc, slice.getType(), slots).getResult());
    slice.erase();
  }
  if (samples.use_empty())
    return;
  OpBuilder builder(rows.getContext());
  builder.setInsertionPointAfterValue(rows);
  Value all = arrays.split(builder, rows, initial, builder.getIndexAttr(0),
                           tensor::getMixedSize(builder, loc, samples, 0), reverse);
  samples.replaceAllUsesWith(tensor::CastOp::create(builder, loc, samples.getType(), all));
}
