//===- RecomputePlan.cpp - plans recomputation of steps -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RecomputePlan.h"
#include "bppsa/Dialect/BPPSA/Analysis/RunningSums.h"
#include "bppsa/Dialect/BPPSA/Analysis/SymbolicSizes.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace bppsa;

static int64_t getStepBytes(Value sequence) {
  auto type = cast<RankedTensorType>(sequence.getType());
  return type.getDimSize(2) * type.getElementTypeBitWidth() / 8;
}

static RecurrenceOp getRecurrence(Value saved) {
  if (auto slice = saved.getDefiningOp<tensor::ExtractSliceOp>())
    saved = slice.getSource();
  return saved.getDefiningOp<RecurrenceOp>();
}

/// The last recurrence in the direction of `chain` is chosen, because others compute its inputs.
static RecurrenceOp findForward(ChainOp chain) {
  RecurrenceOp found;
  for (Value saved : chain.getSaved()) {
    RecurrenceOp loop = getRecurrence(saved);
    if (loop && !loop.getInitial().empty() && loop->getBlock() == chain->getBlock() &&
        loop.getLanes() == chain.getLanes() && loop.getReverse() == chain.getReverse() &&
        loop.getDestinations().empty() && (!found || found->isBeforeInBlock(loop)))
      found = loop;
  }
  return found;
}

namespace {
class Planner {
public:
  Planner(RecurrenceOp forward, ChainOp backward) {
    plan.forward = forward;
    plan.backward = backward;
  }
  std::optional<RecomputePlan> run();

private:
  bool canMoveBeforeChain(Value value) const;
  void moveBefore(Value value);
  void addMember(Operation *op, SmallVector<Operation *> &members);
  void findMembers();
  bool isMember(Operation *op) const {
    return op == plan.backward || llvm::is_contained(plan.sums, op) ||
           llvm::is_contained(plan.readers, op);
  }
  bool isReadByMembers(Value value) const;
  bool addSlice(tensor::ExtractSliceOp slice, unsigned state);
  bool addTrajectory(unsigned state);

  RecomputePlan plan;
};
} // namespace

bool Planner::canMoveBeforeChain(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != plan.backward->getBlock() || op->isBeforeInBlock(plan.backward))
    return true;
  return op != plan.backward && isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return canMoveBeforeChain(operand); });
}

void Planner::moveBefore(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != plan.backward->getBlock() || op->isBeforeInBlock(plan.backward) ||
      op == plan.backward)
    return;
  for (Value operand : op->getOperands())
    moveBefore(operand);
  op->moveBefore(plan.backward);
}

void Planner::addMember(Operation *op, SmallVector<Operation *> &members) {
  bool isReady = op->getBlock() == plan.backward->getBlock() && !isMember(op) &&
                 cast<PackableOpInterface>(op).getLanes() == plan.backward.getLanes() &&
                 llvm::all_of(op->getOperands(), [&](Value operand) {
                   return operand.getDefiningOp() == plan.backward || canMoveBeforeChain(operand);
                 });
  if (isReady)
    members.push_back(op);
}

void Planner::findMembers() {
  SmallVector<Operation *> sums;
  for (Value emitted : plan.backward.getEmitted())
    for (Operation *user : emitted.getUsers()) {
      auto reader = dyn_cast<RecurrenceOp>(user);
      if (isa<OuterSumOp, StepSumOp>(user) && !llvm::is_contained(sums, user))
        addMember(user, sums);
      else if (reader && reader.getInitial().empty() && reader.getDestinations().empty())
        addMember(user, plan.readers);
    }
  auto isEmitted = [&](Operation *sum) {
    return llvm::any_of(getSummed(sum),
                        [&](Value v) { return v.getDefiningOp() == plan.backward; });
  };
  auto isEarlier = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
  for (Value saved : plan.backward.getSaved())
    for (Operation *user : saved.getUsers())
      if (isa<OuterSumOp, StepSumOp>(user) && user->getBlock() == plan.backward->getBlock() &&
          plan.backward->isBeforeInBlock(user) && !llvm::is_contained(sums, user))
        addMember(user, sums);
  llvm::sort(sums, isEarlier);
  // Other sums would be accumulated in another order without segments.
  if (*plan.backward.getLanes() > 1)
    plan.sums = chooseSums(sums, isEmitted, kMaxRunningSumBytes);
  llvm::sort(plan.readers, isEarlier);
}

bool Planner::isReadByMembers(Value value) const {
  return llvm::all_of(value.getUsers(),
                      [&](Operation *user) { return isMember(user) || readsSizeOnly(user); });
}

/// `slice` must read final states or be readable by segments.
bool Planner::addSlice(tensor::ExtractSliceOp slice, unsigned state) {
  RecurrenceOp loop = plan.forward;
  RankedTensorType whole = slice.getSourceType();
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets(), sizes = slice.getMixedSizes();
  SymbolicSizes symbolic;
  auto isSize = [&](OpFoldResult size, Value array, int64_t dim) {
    return symbolic.areEqual(symbolic.get(size, slice.getContext()), symbolic.getSize(array, dim));
  };
  Value steps = loop.getSequences()[0];
  if (!slice.hasUnitStride() || slice.getType().getRank() != 4 || !isSize(sizes[0], steps, 0) ||
      !isConstantIntValue(sizes[2], whole.getDimSize(2)))
    return false;
  bool isFinal =
      isConstantIntValue(sizes[1], 1) &&
      (loop.getReverse() ? isConstantIntValue(offsets[1], 0) : isSize(offsets[1], steps, 1));
  if (isFinal) {
    plan.finalStates.push_back(slice);
    return true;
  }
  std::optional<int64_t> first = getConstantIntValue(offsets[1]);
  if (!first || *first > 1 || !isSize(sizes[1], steps, 1))
    return false;
  plan.slots[slice] = {state, static_cast<unsigned>(*first)};
  return isReadByMembers(slice);
}

bool Planner::addTrajectory(unsigned state) {
  bool isBuffered = true;
  size_t numFinal = plan.finalStates.size();
  for (Operation *user : plan.forward.getTrajectories()[state].getUsers()) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    isBuffered &= readsSizeOnly(user) || (slice && addSlice(slice, state));
  }
  if (!isBuffered)
    plan.finalStates.truncate(numFinal);
  return isBuffered;
}

std::optional<RecomputePlan> Planner::run() {
  findMembers();
  for (auto [i, state] : llvm::enumerate(plan.forward.getTrajectories())) {
    plan.isResultComplete.push_back(!addTrajectory(i));
    plan.stateBytes += getStepBytes(state);
    if (!plan.isResultComplete.back())
      plan.stepBytes += getStepBytes(state);
  }
  for (Value output : plan.forward.getOutputs()) {
    plan.isResultComplete.push_back(!isReadByMembers(output));
    if (!plan.isResultComplete.back())
      plan.stepBytes += getStepBytes(output);
  }
  for (Value emitted : plan.backward.getEmitted()) {
    plan.isEmittedWhole.push_back(!isReadByMembers(emitted));
    // Blocking in time keeps only a block of the sequences that sums read.
    bool isKept = !plan.isEmittedWhole.back() &&
                  llvm::any_of(emitted.getUsers(), llvm::IsaPred<RecurrenceOp>);
    if (isKept)
      plan.stepBytes += getStepBytes(emitted);
  }
  if (plan.stepBytes == 0)
    return std::nullopt;
  for (ArrayRef<Operation *> members : {ArrayRef(plan.sums), ArrayRef(plan.readers)})
    for (Operation *member : members)
      for (Value operand : member->getOperands())
        moveBefore(operand);
  return plan;
}

/// Emits a diagnostic if `chain` has no recurrence outside other plans.
static FailureOr<RecurrenceOp> findOwnForward(ChainOp chain, ArrayRef<RecomputePlan> plans) {
  if (!chain.getPlan().isSequential())
    return refuseOp(chain) << "with the plan '" << chain.getPlan().toString()
                           << "' reads all steps at once, so a memory limit cannot bound it; use "
                              "--backward=sequential, or remove --memory-limit";
  RecurrenceOp forward = findForward(chain);
  if (!forward ||
      llvm::any_of(plans, [&](const RecomputePlan &plan) { return plan.forward == forward; }))
    return refuseOp(chain) << "reads no recurrence that could be recomputed within a memory limit; "
                              "remove --memory-limit";
  return forward;
}

FailureOr<std::vector<RecomputePlan>> bppsa::planRecomputation(func::FuncOp function) {
  std::vector<RecomputePlan> plans;
  if (function.isExternal())
    return plans;
  for (auto chain : function.getOps<ChainOp>()) {
    if (!chain.getLanes() || !chain.getDestinations().empty())
      continue;
    FailureOr<RecurrenceOp> forward = findOwnForward(chain, plans);
    if (failed(forward))
      return failure();
    if (std::optional<RecomputePlan> plan = Planner(*forward, chain).run())
      plans.push_back(std::move(*plan));
  }
  return plans;
}
