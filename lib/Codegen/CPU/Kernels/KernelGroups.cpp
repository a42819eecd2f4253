//===- KernelGroups.cpp - groups of operations per kernel -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "KernelGroups.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/Utils/ViewRoot.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace bppsa;

bool bppsa::isMemoryOrView(Operation *op) {
  return isa<memref::AllocOp, memref::DeallocOp>(op) || isMemoryEffectFree(op);
}

/// Returns true if `op` writes an operand of the sum or uses its destination.
static bool mustStayBefore(Operation *sum, Operation *op) {
  if (isa<memref::AllocOp, memref::DeallocOp>(op) || isMemoryEffectFree(op))
    return false;
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface)
    return true;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  SmallVector<Value> used = llvm::map_to_vector(sum->getOperands(), getViewRoot);
  return llvm::any_of(effects, [&](const MemoryEffects::EffectInstance &effect) {
    if (!effect.getValue())
      return true;
    Value root = getViewRoot(effect.getValue());
    return root == used.back() ||
           (!isa<MemoryEffects::Read>(effect.getEffect()) && llvm::is_contained(used, root));
  });
}

SmallVector<Operation *> bppsa::findSumsAfter(Operation *op,
                                              function_ref<bool(Operation *)> isSum) {
  SmallVector<Operation *> sums, others;
  for (op = op->getNextNode(); op; op = op->getNextNode()) {
    if (isSum(op) &&
        llvm::none_of(others, [&](Operation *other) { return mustStayBefore(op, other); }))
      sums.push_back(op);
    else
      others.push_back(op);
  }
  return sums;
}

static bool isMovable(Operation *op) { return isa<memref::AllocOp>(op) || isMemoryEffectFree(op); }

bool bppsa::hoistBefore(Operation *op, Value value) {
  Operation *definition = value.getDefiningOp();
  if (!definition || definition->getBlock() != op->getBlock() || definition->isBeforeInBlock(op))
    return true;
  if (!isMovable(definition))
    return false;
  for (Value operand : definition->getOperands())
    if (!hoistBefore(op, operand))
      return false;
  definition->moveBefore(op);
  return true;
}

bool bppsa::isUsedOnlyBy(Value array, ArrayRef<Operation *> ops) {
  auto memory = array.getDefiningOp<memref::AllocOp>();
  return memory && llvm::all_of(memory->getUsers(), [&](Operation *user) {
           return isa<memref::DeallocOp>(user) || llvm::is_contained(ops, user);
         });
}

void bppsa::eraseMemory(Operation *memory) {
  for (Operation *user : llvm::make_early_inc_range(memory->getUsers()))
    eraseMemory(user);
  memory->erase();
}

void bppsa::isolateGroup(ArrayRef<Operation *> ops) {
  SmallVector<Operation *> others;
  for (Operation *op = ops.front(); op != ops.back(); op = op->getNextNode())
    if (!llvm::is_contained(ops, op))
      others.push_back(op);
  Operation *last = ops.back();
  for (Operation *op : others) {
    if (!isa<memref::DeallocOp>(op)) {
      op->moveBefore(ops.front());
      continue;
    }
    op->moveAfter(last);
    last = op;
  }
}

static void gather(ArrayRef<Operation *> group) {
  Operation *last = group.back();
  SmallVector<Operation *> freed;
  for (Operation *op = group.front(); op != last; op = op->getNextNode())
    if (isa<memref::DeallocOp>(op))
      freed.push_back(op);
  for (Operation *op : group.drop_back())
    op->moveBefore(last);
  for (Operation *op : llvm::reverse(freed))
    op->moveAfter(last);
}

static DenseSet<Operation *>
gatherGroups(ArrayRef<Operation *> ops,
             function_ref<SmallVector<Operation *>(Operation *)> findGroup) {
  DenseSet<Operation *> followers;
  for (Operation *op : ops) {
    if (followers.contains(op))
      continue;
    SmallVector<Operation *> group = findGroup(op);
    gather(group);
    followers.insert(group.begin() + 1, group.end());
  }
  return followers;
}

static bool writesOperand(Operation *a, Operation *b) {
  Value written = getViewRoot(a->getOperands().back());
  return llvm::any_of(b->getOperands(), [&](Value used) { return getViewRoot(used) == written; });
}

static SmallVector<Operation *> findSumGroup(Operation *first) {
  SmallVector<Operation *> group = {first};
  for (Operation *op = first->getNextNode(); op; op = op->getNextNode()) {
    if (isMemoryOrView(op))
      continue;
    if (!isa<OuterSumOp, StepSumOp>(op) || llvm::any_of(group, [&](Operation *member) {
          return writesOperand(member, op) || writesOperand(op, member);
        }))
      break;
    if (auto sum = dyn_cast<OuterSumOp>(op);
        sum && sum.getRhs() == cast<OuterSumOp>(first).getRhs())
      group.push_back(sum);
  }
  return group;
}

DenseSet<Operation *> bppsa::gatherSums(Block &block) {
  SmallVector<Operation *> sums;
  for (auto sum : block.getOps<OuterSumOp>())
    if (sum->getNumResults() == 0)
      sums.push_back(sum);
  return gatherGroups(sums, findSumGroup);
}

static bool areDisjointWindows(Value a, Value b) {
  auto first = a.getDefiningOp<memref::SubViewOp>(), second = b.getDefiningOp<memref::SubViewOp>();
  if (!first || !second || first.getSource() != second.getSource())
    return false;
  FailureOr<bool> overlap = ValueBoundsConstraintSet::areOverlappingSlices(
      a.getContext(), HyperrectangularSlice(first), HyperrectangularSlice(second));
  return succeeded(overlap) && !*overlap;
}

static bool areIndependent(memref::CopyOp a, memref::CopyOp b) {
  Value to = getViewRoot(a.getTarget()), otherTo = getViewRoot(b.getTarget());
  if (getViewRoot(a.getSource()) == otherTo || getViewRoot(b.getSource()) == to)
    return false;
  return to != otherTo || areDisjointWindows(a.getTarget(), b.getTarget());
}

static bool isStaticCopy(Operation *op) {
  auto copy = dyn_cast<memref::CopyOp>(op);
  return copy && cast<MemRefType>(copy.getTarget().getType()).hasStaticShape();
}

static SmallVector<Operation *> findCopyGroup(Operation *first) {
  SmallVector<Operation *> group = {first};
  for (Operation *op = first->getNextNode(); op; op = op->getNextNode()) {
    if (isMemoryOrView(op))
      continue;
    if (!isStaticCopy(op) || !llvm::all_of(group, [&](Operation *member) {
          return areIndependent(cast<memref::CopyOp>(member), cast<memref::CopyOp>(op));
        }))
      break;
    group.push_back(op);
  }
  return group;
}

DenseSet<Operation *> bppsa::gatherCopies(Block &block) {
  SmallVector<Operation *> copies;
  for (Operation &op : block)
    if (isStaticCopy(&op))
      copies.push_back(&op);
  return gatherGroups(copies, findCopyGroup);
}

static Operation *findAccumulation(linalg::FillOp fill) {
  Value memory = fill.getDpsInits().front();
  for (Operation *op = fill->getNextNode(); op; op = op->getNextNode()) {
    if (isMemoryOrView(op) || isa<linalg::FillOp>(op))
      continue;
    auto graph = dyn_cast<linalg::LinalgOp>(op);
    return graph && llvm::is_contained(graph.getDpsInits(), memory) ? op : nullptr;
  }
  return nullptr;
}

DenseSet<Operation *> bppsa::gatherFills(Block &block) {
  DenseSet<Operation *> followers;
  for (linalg::FillOp fill : SmallVector<linalg::FillOp>(block.getOps<linalg::FillOp>())) {
    Operation *user = fill->getNumResults() == 0 ? findAccumulation(fill) : nullptr;
    if (!user)
      continue;
    fill->moveBefore(user);
    if (!followers.insert(user).second)
      followers.insert(fill);
  }
  return followers;
}
