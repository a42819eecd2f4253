//===- RollUpSteps.cpp - recurrences from straight-line code --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Transforms/Loops/RollUpSteps.h"
#include "RowWiseBody.h"
#include "StepAnchors.h"
#include "StepLoop.h"
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

/// The number of samples that `anchor` makes a result for.
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

//===----------------------------------------------------------------------===//
// What reads the steps
//===----------------------------------------------------------------------===//

namespace {
/// Replaces what reads values of steps by what reads arrays of all steps.
class OutputReplacer {
public:
  OutputReplacer(OpBuilder &builder, const StepMatcher &steps, const StepLoop &loop)
      : builder(builder), steps(steps), loop(loop) {}
  void replace(unsigned tuple);

private:
  bool replaceConcat(Operation *user, Value first);
  Value createStep(unsigned step);
  /// The array with its steps before dimension `axis` of a value, as one dimension with it where
  /// the values have it.
  Value createJoined(int64_t axis, bool isUnit);

  OpBuilder &builder;
  const StepMatcher &steps;
  const StepLoop &loop;
  Value array;
  ArrayRef<Value> values;
};
} // namespace

Value OutputReplacer::createStep(unsigned step) {
  Location loc = array.getLoc();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, array);
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      strides(sizes.size(), builder.getIndexAttr(1));
  sizes[0] = builder.getIndexAttr(1);
  offsets[0] = builder.getIndexAttr(loop.getSlot(step));
  Value slice = tensor::ExtractSliceOp::create(builder, loc, array, offsets, sizes, strides);
  SmallVector<ReassociationIndices> groups = {{0, 1}};
  for (int64_t i = 2, e = sizes.size(); i < e; ++i)
    groups.push_back({i});
  return tensor::CollapseShapeOp::create(builder, loc, values[step].getType(), slice, groups);
}

Value OutputReplacer::createJoined(int64_t axis, bool isUnit) {
  int64_t rank = cast<RankedTensorType>(array.getType()).getRank();
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(1, rank));
  order.insert(order.begin() + axis, 0);
  Value joined = createTransposed(builder, array, order);
  if (isUnit)
    return joined;
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i < rank; ++i)
    if (i == axis + 1)
      groups.back().push_back(i);
    else
      groups.push_back({i});
  return tensor::CollapseShapeOp::create(builder, array.getLoc(), joined, groups);
}

/// Replaces the operands of a concatenation that are the values of all steps in order, `first`
/// being that of step 0, or that of it with a new dimension.
bool OutputReplacer::replaceConcat(Operation *user, Value first) {
  auto concat = dyn_cast<tensor::ConcatOp>(user);
  // Where the loop runs backwards, its array is in the order of the sequences.
  if (!concat || loop.getSlot(0) != 0)
    return false;
  auto expand = first.getDefiningOp<tensor::ExpandShapeOp>();
  bool isUnit = first != values[0];
  int64_t axis = concat.getDim();
  auto type = cast<RankedTensorType>(values[0].getType());
  if (isUnit) {
    SmallVector<int64_t> shape(type.getShape());
    shape.insert(shape.begin() + std::min<int64_t>(axis, shape.size()), 1);
    if (expand.getResultType().getShape() != ArrayRef(shape))
      return false;
  } else if (type.isDynamicDim(axis)) {
    return false;
  }
  SmallVector<Value> inputs(concat.getInputs());
  auto begin = llvm::find(inputs, first);
  if (static_cast<size_t>(inputs.end() - begin) < values.size())
    return false;
  for (auto [step, value] : llvm::enumerate(values)) {
    auto other = begin[step].getDefiningOp<tensor::ExpandShapeOp>();
    if (isUnit ? !other || other.getSrc() != value || other.getType() != expand.getType()
               : begin[step] != value)
      return false;
  }
  builder.setInsertionPoint(concat);
  *begin = createJoined(axis, isUnit);
  inputs.erase(begin + 1, begin + values.size());
  Value joined = inputs.size() == 1 ? inputs[0]
                                    : tensor::ConcatOp::create(builder, concat.getLoc(),
                                                               concat.getType(), axis, inputs)
                                          .getResult();
  if (joined.getType() != concat.getType())
    joined = tensor::CastOp::create(builder, concat.getLoc(), concat.getType(), joined);
  concat.replaceAllUsesWith(joined);
  concat.erase();
  return true;
}

void OutputReplacer::replace(unsigned tuple) {
  array = loop.getOutput(tuple);
  values = ArrayRef(steps[tuple].values).take_front(steps.getNumSteps());
  for (Operation *user : llvm::to_vector(values[0].getUsers())) {
    if (replaceConcat(user, values[0]))
      continue;
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(user))
      for (Operation *next : llvm::to_vector(expand->getUsers()))
        replaceConcat(next, expand.getResult());
  }
  builder.setInsertionPointAfterValue(array);
  for (unsigned step = 0; step < values.size(); ++step) {
    Value value = values[step];
    auto isOutside = [&](OpOperand &use) {
      return !steps.isStepOp(value.getParentBlock()->findAncestorOpInBlock(*use.getOwner())) &&
             !isOpTriviallyDead(use.getOwner());
    };
    if (llvm::any_of(value.getUses(), isOutside))
      value.replaceUsesWithIf(createStep(step), isOutside);
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Tuples of which operations outside of the steps read values.
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

/// The names of the nodes of the model that one of the steps was written as.
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

static void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Whether `bppsa-vectorize-bodies` makes vectors of the body.
static bool isVectorizable(RecurrenceOp loop) {
  OpBuilder builder(loop);
  Block &body = loop.getBody().front();
  auto isFloat = [](Type type) { return cast<RankedTensorType>(type).getElementType().isF32(); };
  SmallVector<Value> inputs(body.getArguments().drop_back(loop.getCaptures().size()));
  return llvm::all_of(ValueRange(inputs).getTypes(), isFloat) &&
         succeeded(RowWiseBody(builder, loop, inputs)
                       .run(SmallVector<Value>(body.getTerminator()->getOperands())));
}

/// Whether all that steps read and do not share are slices of arrays, and there are any. Layers
/// that are equal but for their weights have none.
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

/// Makes a loop of the steps around `anchors` from the one of number `first` on, if they are any.
static std::optional<RolledUpLoop> rollUp(Block &block, const StepAnchors &all, size_t first,
                                          unsigned minSteps, bool vectorsOnly) {
  ArrayRef<Operation *> anchors = ArrayRef(all.ops).drop_front(first);
  OpFoldResult rows = getRows(anchors.front());
  StepMatcher steps(block, anchors);
  if (!rows || failed(steps.match(minSteps)) || (!all.shareArray && !readsSequences(steps)))
    return std::nullopt;
  OpBuilder builder(block.getTerminator());
  StepLoop loop(builder, anchors.front()->getLoc(), steps, rows);
  SmallVector<unsigned> outputs = findOutputs(steps);
  FailureOr<RecurrenceOp> made = failure();
  if (llvm::any_of(outputs, [&](unsigned tuple) { return failed(loop.addOutput(tuple)); }) ||
      failed(made = loop.finish()) || (vectorsOnly && !isVectorizable(*made))) {
    eraseDeadOps(block);
    return std::nullopt;
  }
  RolledUpLoop rolledUp{steps.getNumSteps(), getNodesOfStep(steps, block)};
  OutputReplacer replacer(builder, steps, loop);
  for (unsigned tuple : outputs)
    replacer.replace(tuple);
  eraseDeadOps(block);
  sortTopologically(&block);
  auto options = remark::RemarkOpts::name("RollUpSteps")
                     .category("roll-up")
                     .function(cast<func::FuncOp>(block.getParentOp()).getName());
  remark::passed(made->getLoc(), options) << remark::add(
      "{0} equal steps became one loop of {1} states", rolledUp.steps, made->getInitial().size());
  return rolledUp;
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
    eraseDeadOps(block);
    while (rollUpOne(block))
      ++numLoops;
  }

private:
  bool rollUpOne(Block &block) {
    for (const StepAnchors &anchors : findStepAnchors(block, minSteps)) {
      std::optional<RolledUpLoop> made = rollUp(block, anchors, 0, minSteps, vectorsOnly);
      // The first step may be one of its own.
      if (!made)
        made = rollUp(block, anchors, 1, minSteps, vectorsOnly);
      if (made && loops)
        loops->push_back(std::move(*made));
      if (made)
        return true;
    }
    return false;
  }

  std::vector<RolledUpLoop> *loops = nullptr;
};
} // namespace

std::unique_ptr<Pass> bppsa::createRollUpSteps(const RollUpStepsOptions &options,
                                               std::vector<RolledUpLoop> &loops) {
  return std::make_unique<RollUpSteps>(options, loops);
}
