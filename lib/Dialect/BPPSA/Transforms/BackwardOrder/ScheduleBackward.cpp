//===- ScheduleBackward.cpp - schedules parameter gradients ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "bppsa/Dialect/BPPSA/Analysis/TensorLiveness.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSASchedule.h"
#include "bppsa/Dialect/BPPSA/Transforms/BackwardOrder/Passes.h"
#include "bppsa/Support/BackwardOrder.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace bppsa {
#define GEN_PASS_DEF_SCHEDULEBACKWARD
#include "bppsa/Dialect/BPPSA/Transforms/BackwardOrder/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static BackwardPartAttr getPart(Operation *op) { return attrs::BackwardPart::of(op); }

static bool isParameter(Operation *op) {
  BackwardPartAttr part = getPart(op);
  return part && part.getRole() == BackwardRole::Parameter;
}

namespace {
struct Arranged {
  SmallVector<Operation *> ops;
  /// Index of the first operation that runs in the next step, or of the terminator.
  size_t carried = 0;
};

class BackwardPass {
public:
  explicit BackwardPass(func::FuncOp function);

  int64_t getNumStages() const { return stages.size(); }
  Arranged arrange(const BackwardOrder &order) const;
  size_t getForwardSize() const { return forward.size(); }

private:
  friend class Arrangement;

  SmallVector<Operation *> forward;
  SmallVector<Operation *> backward;
  /// Parameter operations in their original order, and the last cotangent operation that they need,
  /// or null. Stored at index stage - 1.
  struct Stage {
    SmallVector<Operation *> ops;
    Operation *last = nullptr;
  };
  SmallVector<Stage> stages;
};

class Arrangement {
public:
  Arrangement(const BackwardPass &pass, const BackwardOrder &order)
      : pass(pass), order(order), ops(pass.forward) {
    pending.insert(pass.backward.begin(), pass.backward.end());
  }
  Arranged run();

private:
  bool isCarried(Operation *op) const {
    return isParameter(op) && order.isCarried(getPart(op).getStage());
  }
  /// Adds the dependences of `op` first, unless already added.
  void add(Operation *op);
  void addStage(int64_t stage);
  void addStagesAfter(Operation *last);

  const BackwardPass &pass;
  const BackwardOrder &order;
  SmallVector<Operation *> ops;
  DenseSet<Operation *> pending;
};
} // namespace

BackwardPass::BackwardPass(func::FuncOp function) {
  bool isBackward = false;
  DenseMap<Operation *, Operation *> last;
  for (Operation &op : function.front()) {
    if (auto phase = dyn_cast<MarkPhaseOp>(op))
      isBackward = phase.getPhase() == 1;
    (isBackward ? backward : forward).push_back(&op);
    if (!isBackward || !isParameter(&op))
      continue;
    Operation *&own = last[&op];
    for (Value operand : getUsedValues(&op)) {
      Operation *other = operand.getDefiningOp();
      if (!other || !getPart(other))
        continue;
      if (isParameter(other))
        other = last.lookup(other);
      if (other && (!own || own->isBeforeInBlock(other)))
        own = other;
    }
    size_t number = getPart(&op).getStage();
    stages.resize(std::max(stages.size(), number));
    Stage &stage = stages[number - 1];
    stage.ops.push_back(&op);
    if (own && (!stage.last || stage.last->isBeforeInBlock(own)))
      stage.last = own;
  }
}

Arranged BackwardPass::arrange(const BackwardOrder &order) const {
  return Arrangement(*this, order).run();
}

void Arrangement::add(Operation *op) {
  if (!pending.erase(op))
    return;
  for (Value operand : getUsedValues(op))
    if (Operation *producer = operand.getDefiningOp())
      add(producer);
  ops.push_back(op);
}

void Arrangement::addStage(int64_t stage) {
  llvm::for_each(pass.stages[stage - 1].ops, [&](Operation *op) { add(op); });
  for (auto [from, to] : llvm::reverse(order.deferred))
    if (to == stage)
      addStage(from);
}

/// If `last` is null, adds the stages that are ready from the start.
void Arrangement::addStagesAfter(Operation *last) {
  for (int64_t stage = pass.stages.size(); stage > *order.reversed; --stage)
    if (pass.stages[stage - 1].last == last && !order.deferred.count(stage))
      addStage(stage);
}

Arranged Arrangement::run() {
  add(pass.backward.front());
  addStagesAfter(nullptr);
  for (Operation *op : ArrayRef(pass.backward).drop_back())
    // Operations without a part are added when needed.
    if (!isParameter(op) && (getPart(op) || !isMemoryEffectFree(op))) {
      add(op);
      addStagesAfter(op);
    }
  for (int64_t stage = 1; stage <= *order.reversed; ++stage)
    addStage(stage);
  for (Operation *op : ArrayRef(pass.backward).drop_back())
    if (!isCarried(op) && (getPart(op) || !isMemoryEffectFree(op)))
      add(op);
  size_t carried = ops.size();
  // The next step reads parameters of the first stage first.
  for (auto [stage, target] : order.deferred)
    if (target == BackwardOrder::kNextStep)
      addStage(stage);
  llvm::for_each(pass.backward, [&](Operation *op) { add(op); });
  return {std::move(ops), carried};
}

/// Memory is allocated for each stage, so large numbers in handwritten IR are rejected.
static LogicalResult verifyStages(func::FuncOp function) {
  auto most = static_cast<int64_t>(function.front().getOperations().size());
  for (Operation &op : function.front())
    if (BackwardPartAttr part = getPart(&op); part && part.getStage() > most)
      return refuseOp(&op) << "must have a stage of at most " << most
                           << ", the number of operations, found " << part.getStage()
                           << "; number stages without gaps";
  return success();
}

static void emitRemark(func::FuncOp function, BackwardOrderAttr order, int64_t stages) {
  auto options = remark::RemarkOpts::name("ScheduleBackward")
                     .category("schedule")
                     .function(function.getName());
  remark::passed(function.getLoc(), options)
      << remark::add("{0} of {1} stages: at most {2} bytes of tensors at a time, {3} in order",
                     order.getOrder(), stages, order.getPeak(), order.getInOrderPeak());
}

namespace {
struct ScheduleBackwardPass : bppsa::impl::ScheduleBackwardBase<ScheduleBackwardPass> {
  using ScheduleBackwardBase::ScheduleBackwardBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    std::optional<BackwardOrder> wanted = BackwardOrder::parse(order);
    if (!wanted) {
      refuse(function) << "the order must be in-order, reverse-first:K, reverse-first:auto or "
                          "defer:L:J[,L:J...] with 1 <= J < L or next, found '"
                       << order << "'";
      return signalPassFailure();
    }
    if (!function.getBody().hasOneBlock())
      return;
    if (failed(verifyStages(function)))
      return signalPassFailure();
    BackwardPass pass(function);
    if (pass.getNumStages() == 0)
      return markAllAnalysesPreserved();
    if (wanted->getLastStage() > pass.getNumStages()) {
      refuse(function) << "order '" << order << "' names stage " << wanted->getLastStage()
                       << ", but the backward pass has " << pass.getNumStages()
                       << "; stages count from the one that cotangents reach last";
      return signalPassFailure();
    }
    schedule(function, pass, *wanted);
  }

private:
  void schedule(func::FuncOp function, const BackwardPass &pass, BackwardOrder wanted) {
    TensorLiveness liveness(function, {batch, length});
    auto getPeakOf = [&](const Arranged &arranged) {
      return liveness.getPeak(arranged.ops, arranged.carried, pass.getForwardSize());
    };
    auto getPeak = [&](const BackwardOrder &order) { return getPeakOf(pass.arrange(order)); };
    int64_t inOrder = getPeak(BackwardOrder());
    if (!wanted.reversed) {
      int64_t limit = memoryLimit > 0 ? memoryLimit.getValue() : inOrder;
      wanted.reversed = pass.getNumStages();
      while (*wanted.reversed > 0 && getPeak(wanted) > limit)
        --*wanted.reversed;
    }
    Arranged arranged = pass.arrange(wanted);
    auto chosen =
        BackwardOrderAttr::get(&getContext(), wanted.toString(), getPeakOf(arranged), inOrder);
    for (Operation *op : arranged.ops)
      op->moveBefore(&function.front(), function.front().end());
    if (wanted.carriesAny()) {
      OpBuilder builder(arranged.ops[arranged.carried]);
      MarkPhaseOp::create(builder, function.getLoc(), 2);
    }
    attrs::BackwardOrder::set(function, chosen);
    emitRemark(function, chosen, pass.getNumStages());
  }
};
} // namespace
