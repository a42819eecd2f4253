//===- RollUpSteps.cpp - rolls up steps to recurrences --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Transforms/Loops/RollUpSteps.h"
#include "RowWiseBody.h"
#include "StepAnchors.h"
#include "StepOutputs.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"

namespace bppsa {
#define GEN_PASS_DEF_ROLLUPSTEPS
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static OpFoldResult getRows(Operation *anchor) {
  auto generic = cast<linalg::GenericOp>(anchor);
  auto type = cast<RankedTensorType>(generic.getResult(0).getType());
  if (type.getRank() == 0)
    return {};
  if (!type.isDynamicDim(0))
    return Builder(anchor->getContext()).getIndexAttr(type.getDimSize(0));
  Value init = generic.getDpsInits()[0];
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    init = fill.getOutputs()[0];
  auto empty = init.getDefiningOp<tensor::EmptyOp>();
  return empty ? empty.getMixedSizes()[0] : OpFoldResult();
}

static SmallVector<unsigned> findOutputs(const StepMatcher &steps) {
  SmallVector<unsigned> outputs;
  for (unsigned i = 0, e = steps.size(); i < e; ++i) {
    const StepTuple &tuple = steps[i];
    if (tuple.kind != StepTuple::Op || !tuple.isDependent)
      continue;
    auto isRead = [&](Value value) {
      return llvm::any_of(value.getUsers(), [&](Operation *user) {
        return !steps.isStepOp(value.getParentBlock()->findAncestorOpInBlock(*user));
      });
    };
    if (llvm::any_of(ArrayRef(tuple.values).take_front(steps.getNumSteps()), isRead))
      outputs.push_back(i);
  }
  return outputs;
}

static std::vector<std::string> getNodesOfStep(const StepMatcher &steps, Block &block) {
  DenseSet<Operation *> ofStep;
  for (unsigned i = 0, e = steps.size(); i < e; ++i)
    if (steps[i].kind == StepTuple::Op && steps[i].isDependent)
      ofStep.insert(steps[i].getOp(0));
  std::vector<std::string> nodes;
  for (Operation &op : block)
    if (auto name = dyn_cast<NameLoc>(op.getLoc());
        name && ofStep.contains(&op) && !llvm::is_contained(nodes, name.getName().strref()))
      nodes.push_back(name.getName().str());
  return nodes;
}

/// Stops before `begin`, or covers the whole block. Adds the operations to `erased`.
static void eraseDeadOps(Block &block, Operation *begin, DenseSet<Operation *> &erased) {
  Operation *next = &block.back();
  while (Operation *op = std::exchange(next, next ? next->getPrevNode() : nullptr)) {
    if (op == begin)
      return;
    if (!isOpTriviallyDead(op))
      continue;
    erased.insert(op);
    op->erase();
  }
}

static bool isVectorizable(RecurrenceOp loop) {
  OpBuilder builder(loop);
  Block &body = loop.getBody().front();
  auto isFloat = [](Type type) { return cast<RankedTensorType>(type).getElementType().isF32(); };
  SmallVector<Value> inputs(body.getArguments().drop_back(loop.getCaptures().size()));
  return llvm::all_of(ValueRange(inputs).getTypes(), isFloat) &&
         succeeded(RowWiseBody(builder, loop, inputs)
                       .run(SmallVector<Value>(body.getTerminator()->getOperands())));
}

/// True if values that differ between steps are array slices, not layer weights.
static bool readsSequences(const StepMatcher &steps) {
  bool hasSlices = false;
  for (unsigned i = 0, e = steps.size(); i < e; ++i) {
    if (steps[i].kind != StepTuple::Sequence)
      continue;
    if (!getStepSlices(ArrayRef(steps[i].values).take_front(steps.getNumSteps())))
      return false;
    hasSlices = true;
  }
  return hasSlices;
}

static void reportLoop(RecurrenceOp loop, unsigned numSteps) {
  auto options = remark::RemarkOpts::name("RollUpSteps")
                     .category("roll-up")
                     .function(loop->getParentOfType<func::FuncOp>().getName());
  remark::passed(loop.getLoc(), options) << remark::add(
      "{0} equal steps became one loop of {1} states", numSteps, loop.getInitial().size());
}

namespace {
class StepRoller {
public:
  StepRoller(Block &block, unsigned minSteps, bool vectorsOnly)
      : block(block), minSteps(minSteps), vectorsOnly(vectorsOnly) {}

  bool rollUpAll(ArrayRef<StepAnchors> found);
  std::vector<RolledUpLoop> loops;
  DenseSet<Operation *> erased;

private:
  bool rollUpSome(const StepAnchors &anchors);
  bool rollUp(const StepAnchors &all, size_t first, bool readSequences);
  std::optional<RecurrenceOp> createLoop(StepLoop &loop, ArrayRef<unsigned> outputs);

  Block &block;
  unsigned minSteps;
  bool vectorsOnly;
  /// Comparisons of unmatched anchors. The limit keeps total time linear.
  size_t wastedWork = 0, maxWastedWork = 0;
};
} // namespace

std::optional<RecurrenceOp> StepRoller::createLoop(StepLoop &loop, ArrayRef<unsigned> outputs) {
  Operation *last = block.getTerminator()->getPrevNode();
  FailureOr<RecurrenceOp> made = failure();
  if (llvm::all_of(outputs, [&](unsigned tuple) { return succeeded(loop.addOutput(tuple)); }) &&
      succeeded(made = loop.finish()) && (!vectorsOnly || isVectorizable(*made)))
    return *made;
  eraseDeadOps(block, last, erased);
  return std::nullopt;
}

bool StepRoller::rollUp(const StepAnchors &all, size_t first, bool readSequences) {
  ArrayRef<Operation *> anchors = ArrayRef(all.ops).drop_front(first);
  OpFoldResult rows = getRows(anchors.front());
  StepMatcher steps(block, anchors);
  bool isMatch = rows && succeeded(steps.match(minSteps, readSequences)) &&
                 (all.shareArray || readsSequences(steps));
  OpBuilder builder(block.getTerminator());
  StepLoop loop(builder, anchors.front()->getLoc(), steps, rows);
  SmallVector<unsigned> outputs = isMatch ? findOutputs(steps) : SmallVector<unsigned>();
  std::optional<RecurrenceOp> made = isMatch ? createLoop(loop, outputs) : std::nullopt;
  if (!made) {
    wastedWork += steps.getWork();
    return false;
  }
  loops.push_back({steps.getNumSteps(), getNodesOfStep(steps, block)});
  OutputReplacer replacer(builder, steps, loop);
  for (unsigned tuple : outputs)
    replacer.replace(tuple);
  reportLoop(*made, steps.getNumSteps());
  eraseDeadOps(block, /*begin=*/nullptr, erased);
  sortTopologically(&block);
  return true;
}

/// The first step may differ, or the loop may not support operations that read sequences. Then
/// retry without them.
bool StepRoller::rollUpSome(const StepAnchors &anchors) {
  for (size_t first : {0, 1})
    for (bool readSequences : {true, false})
      if (anchors.ops.size() - first >= minSteps && wastedWork <= maxWastedWork &&
          rollUp(anchors, first, readSequences))
        return true;
  return false;
}

bool StepRoller::rollUpAll(ArrayRef<StepAnchors> found) {
  constexpr size_t kMaxWorkPerOp = 32;
  maxWastedWork = kMaxWorkPerOp * block.getOperations().size();
  size_t before = loops.size();
  erased.clear();
  for (const StepAnchors &anchors : found)
    if (llvm::none_of(anchors.ops, [&](Operation *op) { return erased.contains(op); }))
      rollUpSome(anchors);
  return loops.size() > before;
}

namespace {
struct RollUpSteps : bppsa::impl::RollUpStepsBase<RollUpSteps> {
  using RollUpStepsBase::RollUpStepsBase;
  RollUpSteps(const RollUpStepsOptions &options, std::vector<RolledUpLoop> &loops)
      : RollUpStepsBase(options), loops(&loops) {}

  void runOnOperation() override {
    if (minSteps < 3) {
      getOperation().emitError() << "bppsa-roll-up-steps needs min-steps of 3 or more, found "
                                 << minSteps;
      return signalPassFailure();
    }
    if (getOperation().isDeclaration() || !getOperation().getBody().hasOneBlock())
      return;
    Block &block = getOperation().front();
    if (findStepAnchors(block, minSteps).empty())
      return;
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance;
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
    StepRoller roller(block, minSteps, vectorsOnly);
    eraseDeadOps(block, /*begin=*/nullptr, roller.erased);
    while (roller.rollUpAll(findStepAnchors(block, minSteps)))
      ;
    numLoops += roller.loops.size();
    if (loops)
      llvm::append_range(*loops, roller.loops);
  }

private:
  std::vector<RolledUpLoop> *loops = nullptr;
};
} // namespace

std::unique_ptr<Pass> bppsa::createRollUpSteps(const RollUpStepsOptions &options,
                                               std::vector<RolledUpLoop> &loops) {
  return std::make_unique<RollUpSteps>(options, loops);
}
