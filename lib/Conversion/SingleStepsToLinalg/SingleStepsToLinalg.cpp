//===- SingleStepsToLinalg.cpp - single-step recurrences to linalg --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BatchedBody.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/Utils/UnitDims.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/MapVector.h"

namespace bppsa {
#define GEN_PASS_DEF_CONVERTSINGLESTEPSTOLINALG
#include "bppsa/Conversion/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static bool isSingleStep(RecurrenceOp loop) {
  return !loop.isGraphForm() && !loop.getLanes() && !loop.getSequences().empty() &&
         loop.getOutputs().empty() && !loop.getCaptures().empty() &&
         cast<RankedTensorType>(loop.getSequences()[0].getType()).getDimSize(0) == 1;
}

namespace {
class StepWriter {
public:
  explicit StepWriter(IRRewriter &rewriter) : rewriter(rewriter) {}
  void write(RecurrenceOp loop);

private:
  /// Reuses the value of an earlier step, so that all steps share it.
  OpFoldResult getBatch(RecurrenceOp loop);
  Value addStep(Location loc, Value state, OpFoldResult batch);
  void replaceTrajectory(Value trajectory, Value before, Value after, OpFoldResult batch);

  IRRewriter &rewriter;
  DenseMap<Value, OpFoldResult> batches;
};
} // namespace

OpFoldResult StepWriter::getBatch(RecurrenceOp loop) {
  Value origin = loop.getInitial()[0];
  while (Operation *op = origin.getDefiningOp()) {
    auto known = batches.find(origin);
    if (known != batches.end())
      return known->second;
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::ExtractSliceOp,
             tensor::ConcatOp, tensor::CastOp>(op))
      break;
    origin = op->getOperand(0);
  }
  return tensor::getMixedSize(rewriter, loop.getLoc(), loop.getInitial()[0], 0);
}

Value StepWriter::addStep(Location loc, Value state, OpFoldResult batch) {
  auto type = cast<RankedTensorType>(state.getType());
  SmallVector<int64_t> shape = {1};
  llvm::append_range(shape, type.getShape());
  SmallVector<OpFoldResult> sizes = {rewriter.getIndexAttr(1), batch,
                                     rewriter.getIndexAttr(type.getDimSize(1))};
  SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
  return tensor::ExpandShapeOp::create(
      rewriter, loc, RankedTensorType::get(shape, type.getElementType()), state, groups, sizes);
}

void StepWriter::replaceTrajectory(Value trajectory, Value before, Value after,
                                   OpFoldResult batch) {
  Location loc = trajectory.getLoc();
  Value slots[] = {addStep(loc, before, batch), addStep(loc, after, batch)};
  for (Operation *user : llvm::make_early_inc_range(trajectory.getUsers())) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    std::optional<int64_t> slot;
    if (slice && slice.getType() == slots[0].getType() &&
        isConstantIntValue(slice.getMixedSizes()[0], 1))
      slot = getConstantIntValue(slice.getMixedOffsets()[0]);
    if (slot && *slot < 2)
      rewriter.replaceOp(slice, slots[*slot]);
  }
  if (trajectory.use_empty())
    return;
  Value both = tensor::ConcatOp::create(rewriter, loc, 0, slots);
  rewriter.replaceAllUsesWith(trajectory, castTo(rewriter, loc, both, trajectory.getType()));
}

void StepWriter::write(RecurrenceOp loop) {
  rewriter.setInsertionPoint(loop);
  Location loc = loop.getLoc();
  Block &body = loop.getBody().front();
  OpFoldResult batch = getBatch(loop);
  BatchedBody batched(rewriter, loc, batch);
  size_t next = 0;
  SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
  for (Value sequence : loop.getSequences())
    batched.map(body.getArgument(next++),
                tensor::CollapseShapeOp::create(rewriter, loc, sequence, groups));
  for (Value state : loop.getInitial())
    batched.map(body.getArgument(next++), state);
  for (Value capture : loop.getCaptures())
    batched.map(body.getArgument(next++), capture);
  SmallVector<Value> states = batched.convert(body);
  for (auto [i, state] : llvm::enumerate(states)) {
    Value before = loop.getInitial()[i], after = castTo(rewriter, loc, state, before.getType());
    batches[after] = batch;
    if (loop.getReverse())
      std::swap(before, after);
    replaceTrajectory(loop.getTrajectories()[i], before, after, batch);
  }
  rewriter.eraseOp(loop);
}

/// Drops dimensions of results of rank 3 or more.
static bool dropUnitDims(IRRewriter &rewriter, func::FuncOp function) {
  bool dropped = false;
  for (auto generic : llvm::to_vector(function.getOps<linalg::GenericOp>())) {
    if (generic.getNumResults() != 1 || !generic.hasPureTensorSemantics())
      continue;
    ArrayRef<int64_t> shape = cast<RankedTensorType>(generic.getResult(0).getType()).getShape();
    const int64_t *unit = llvm::find(shape, 1);
    if (shape.size() >= 3 && unit != shape.end())
      dropped |= dropUnitDim(rewriter, generic, unit - shape.begin());
  }
  return dropped;
}

namespace {
struct ConvertSingleStepsToLinalg
    : bppsa::impl::ConvertSingleStepsToLinalgBase<ConvertSingleStepsToLinalg> {
  using ConvertSingleStepsToLinalgBase::ConvertSingleStepsToLinalgBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isDeclaration() || !function.getBody().hasOneBlock() ||
        collect(function).size() < minSteps)
      return;
    IRRewriter rewriter(&getContext());
    // Equal captures become one value.
    DominanceInfo dominance;
    eliminateCommonSubExpressions(rewriter, dominance, function);
    llvm::MapVector<Value, SmallVector<RecurrenceOp>> groups;
    for (RecurrenceOp loop : collect(function))
      groups[loop.getCaptures()[0]].push_back(loop);
    SmallPtrSet<Operation *, 16> chosen;
    for (auto &[capture, loops] : groups)
      if (loops.size() >= minSteps && isBatchable(loops.front().getBody().front()))
        chosen.insert_range(loops);
    if (chosen.empty())
      return;
    StepWriter writer(rewriter);
    for (RecurrenceOp loop : collect(function))
      if (chosen.contains(loop))
        writer.write(loop);
    do
      foldReshapes(function);
    while (dropUnitDims(rewriter, function));
  }

private:
  static SmallVector<RecurrenceOp> collect(func::FuncOp function) {
    return llvm::to_vector(llvm::make_filter_range(function.getOps<RecurrenceOp>(), isSingleStep));
  }
};
} // namespace
