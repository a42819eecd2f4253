//===- ShardExchanges.cpp - exchanges between time shards -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A rank runs each loop over time on its steps, starting from the final states of the previous
// rank, so ranks compute different layers in parallel.
//
//===----------------------------------------------------------------------===//

#include "ShardExchanges.h"
#include "../TensorBuilders.h"
#include "StepLayouts.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace bppsa;

/// Maximum number of channels that the runtime distinguishes.
static constexpr int64_t kMaxChannels = 1024;

namespace {
class ShardConnector {
public:
  explicit ShardConnector(MLIRContext *context) : builder(context) {}

  void connect(RecurrenceOp loop);
  void runReversedFirst();
  void forward(Value value);
  void sum(Value value);
  void shift(linalg::IndexOp number);
  void widen(OpOperand &count);

  SmallVector<Value> rests;
  int64_t channels = 0;

private:
  Value enter(Value initial, bool reverse, int64_t channel) {
    return dist::ShardEnterOp::create(builder, initial.getLoc(), initial.getType(), initial,
                                      /*destination=*/Value(), reverse, /*transposed=*/false,
                                      channel)
        .getResult();
  }
  void leave(Value final, bool reverse, int64_t channel) {
    auto scalar = RankedTensorType::get({}, builder.getF32Type());
    rests.push_back(dist::ShardLeaveOp::create(builder, final.getLoc(), scalar, final,
                                               /*destination=*/Value(), reverse,
                                               /*transposed=*/false, channel)
                        .getResult());
  }

  struct Connected {
    RecurrenceOp loop;
    SmallVector<Operation *> enters, leaves;
  };

  OpBuilder builder;
  SmallVector<Connected> connected;
};
} // namespace

static Value createFinalState(OpBuilder &builder, RecurrenceOp loop, Value trajectory) {
  Location loc = loop.getLoc();
  auto type = cast<RankedTensorType>(trajectory.getType());
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, trajectory);
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      strides(sizes.size(), builder.getIndexAttr(1));
  sizes[0] = builder.getIndexAttr(1);
  if (!loop.getReverse())
    offsets[0] = loop.getSequences().empty()
                     ? OpFoldResult(loop.getSteps())
                     : tensor::getMixedSize(builder, loc, loop.getSequences().front(), 0);
  auto slot = RankedTensorType::get(type.getShape().drop_front(), type.getElementType());
  return tensor::ExtractSliceOp::create(builder, loc, slot, trajectory, offsets, sizes, strides);
}

void ShardConnector::connect(RecurrenceOp loop) {
  bool reverse = loop.getReverse();
  int64_t first = channels;
  Connected &made = connected.emplace_back(Connected{loop, {}, {}});
  builder.setInsertionPoint(loop);
  for (OpOperand &initial : loop.getInitialMutable()) {
    initial.set(enter(initial.get(), reverse, channels++));
    made.enters.push_back(initial.get().getDefiningOp());
  }
  builder.setInsertionPointAfter(loop);
  for (auto [i, trajectory] : llvm::enumerate(loop.getTrajectories())) {
    leave(createFinalState(builder, loop, trajectory), reverse, first + i);
    made.leaves.push_back(rests.back().getDefiningOp());
  }
}

bool bppsa::collectNeeded(Operation *op, Operation *first, ArrayRef<Operation *> own,
                          SetVector<Operation *> &needed) {
  if (op == first || (!isMemoryEffectFree(op) && !llvm::is_contained(own, op)))
    return false;
  if (!needed.insert(op))
    return true;
  return llvm::all_of(getUsedValues(op), [&](Value value) {
    Operation *made = value.getDefiningOp();
    return !made || made->getBlock() != first->getBlock() || made->isBeforeInBlock(first) ||
           collectNeeded(made, first, own, needed);
  });
}

void ShardConnector::runReversedFirst() {
  for (size_t i = 1; i < connected.size(); ++i) {
    auto &[before, enters, _] = connected[i - 1];
    Connected &reversed = connected[i];
    if (before.getReverse() || !reversed.loop.getReverse())
      continue;
    SmallVector<Operation *> own =
        llvm::to_vector(llvm::concat<Operation *>(reversed.enters, reversed.leaves));
    own.push_back(reversed.loop);
    SetVector<Operation *> needed;
    Operation *first = enters.front();
    if (!llvm::all_of(own, [&](Operation *op) { return collectNeeded(op, first, own, needed); }) ||
        needed.contains(before))
      continue;
    SmallVector<Operation *> moved = needed.takeVector();
    llvm::sort(moved, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    for (Operation *op : moved)
      op->moveBefore(first);
  }
}

void ShardConnector::forward(Value value) {
  builder.setInsertionPointAfterValue(value);
  Value passed = enter(value, /*reverse=*/false, channels);
  leave(passed, /*reverse=*/false, channels++);
  value.replaceAllUsesExcept(passed, passed.getDefiningOp());
}

void ShardConnector::sum(Value value) {
  SmallVector<OpOperand *> uses =
      llvm::map_to_vector(value.getUses(), [](OpOperand &use) { return &use; });
  builder.setInsertionPointAfterValue(value);
  Value zeros = createZerosLike(builder, value.getLoc(), value);
  Value sum = createAdd(builder, value.getLoc(), enter(zeros, /*reverse=*/false, channels), value);
  leave(sum, /*reverse=*/false, channels++);
  for (OpOperand *use : uses)
    use->set(sum);
}

void ShardConnector::shift(linalg::IndexOp number) {
  Location loc = number.getLoc();
  builder.setInsertionPoint(number->getParentOp());
  Value first = dist::ShardFirstStepOp::create(builder, loc, builder.getIndexType());
  builder.setInsertionPointAfter(number);
  Value shifted = arith::AddIOp::create(builder, loc, number, first);
  number.getResult().replaceAllUsesExcept(shifted, shifted.getDefiningOp());
}

void ShardConnector::widen(OpOperand &count) {
  Value own = count.get();
  builder.setInsertionPointAfterValue(own);
  count.set(dist::ShardAllStepsOp::create(builder, own.getLoc(), builder.getIndexType(), own));
}

FailureOr<SmallVector<Value>> bppsa::connectShards(func::FuncOp function, bool reversedFirst) {
  StepLayouts layouts(function);
  if (failed(layouts.run()))
    return failure();
  ShardConnector connector(function.getContext());
  for (RecurrenceOp loop : layouts.getLoops())
    connector.connect(loop);
  if (reversedFirst)
    connector.runReversedFirst();
  for (Value value : layouts.getFirstStepValues())
    connector.forward(value);
  for (Value value : layouts.getSums())
    connector.sum(value);
  for (linalg::IndexOp number : layouts.getStepIndices())
    connector.shift(number);
  for (OpOperand *count : layouts.getStepCounts())
    connector.widen(*count);
  if (connector.channels > kMaxChannels)
    return refuse(function) << "time shards exchange at most " << kMaxChannels << " states, found "
                            << connector.channels << "; use a model with fewer layers";
  return std::move(connector.rests);
}
