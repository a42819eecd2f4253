//===- SegmentPlan.cpp - plans segments of time steps ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SegmentPlan.h"
#include "TransientStates.h"
#include "bppsa/Dialect/BPPSA/Analysis/SymbolicSizes.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace bppsa;

namespace {
class Planner {
public:
  explicit Planner(RecurrenceOp forward) : numStates(forward.getInitial().size()) {
    plan.forward = forward;
  }
  std::optional<SegmentPlan> run();

private:
  /// Records saved arrays that are `value`. Returns false on other readers.
  bool addReads(Value value, SegmentPlan::Source source);
  bool addTrajectoryReads(unsigned state);

  SegmentPlan plan;
  size_t numStates;
};
} // namespace

bool Planner::addReads(Value value, SegmentPlan::Source source) {
  MutableArrayRef<OpOperand> operands = plan.backward->getOpOperands();
  size_t numSaved = plan.backward.getSaved().size();
  for (OpOperand &use : value.getUses()) {
    bool isSaved = use.getOwner() == plan.backward && use.getOperandNumber() < numSaved;
    if (!isSaved && !readsSizeOnly(use.getOwner()))
      return false;
  }
  for (size_t i = 0; i < numSaved; ++i)
    if (operands[i].get() == value)
      plan.sources[i] = source;
  return true;
}

bool Planner::addTrajectoryReads(unsigned state) {
  RecurrenceOp loop = plan.forward;
  for (Operation *user : loop.getTrajectories()[state].getUsers()) {
    if (readsSizeOnly(user))
      continue;
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice || !slice.hasUnitStride() ||
        slice.getType().getRank() != slice.getSourceType().getRank())
      return false;
    std::optional<int64_t> first = getConstantIntValue(slice.getMixedOffsets()[0]);
    if (readsFinalState(slice, loop))
      plan.finalStates.push_back({slice, state});
    else if (!first || *first > 1 || !addReads(slice, {state, (*first == 1) != loop.getReverse()}))
      return false;
  }
  return true;
}

std::optional<SegmentPlan> Planner::run() {
  RecurrenceOp loop = plan.forward;
  for (Value output : loop.getOutputs())
    for (Operation *user : output.getUsers())
      if (auto chain = dyn_cast<ChainOp>(user);
          chain && !plan.backward && chain.isGraphForm() && chain->getBlock() == loop->getBlock())
        plan.backward = chain;
  if (!plan.backward)
    return std::nullopt;
  plan.sources.resize(plan.backward.getSaved().size());
  for (auto [i, result] : llvm::enumerate(loop->getResults())) {
    auto sources = plan.sources;
    size_t numFinal = plan.finalStates.size();
    bool isState = i < numStates;
    unsigned number = i;
    plan.isBuffered.push_back(isState ? addTrajectoryReads(number)
                                      : addReads(result, {number, false}));
    auto type = cast<RankedTensorType>(result.getType());
    if (!plan.isBuffered.back()) {
      plan.sources = sources;
      plan.finalStates.truncate(numFinal);
      continue;
    }
    int64_t bytes = (type.getElementTypeBitWidth() + 7) / 8;
    for (int64_t size : type.getShape().drop_front(2))
      bytes *= size;
    plan.stepBytes += bytes;
    plan.stateBytes += isState ? bytes : 0;
  }
  // Segments of one step would store all states at their starts and save no memory.
  if (plan.stepBytes == plan.stateBytes)
    return std::nullopt;
  return plan;
}

SmallVector<SegmentPlan> bppsa::planSegments(func::FuncOp function) {
  SmallVector<SegmentPlan> plans;
  if (function.isExternal())
    return plans;
  for (auto loop : function.getOps<RecurrenceOp>())
    if (loop.isGraphForm())
      if (std::optional<SegmentPlan> plan = Planner(loop).run())
        plans.push_back(std::move(*plan));
  return plans;
}
