//===- BarrierPlacement.cpp - barriers of block-level kernels -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Visits accesses in program order and tracks those since the last barrier. Trial visits of a loop
// body find barriers needed only once, before the loop, and between iterations.
//
//===----------------------------------------------------------------------===//

#include "BarrierPlacement.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace bppsa::bgpu;

static bool holdsBlockAccesses(Operation &op) {
  if (op.getNumRegions() == 0 || isa<tensor::GenerateOp, ForEachOp>(op))
    return false;
  return op
      .walk([](Operation *inner) {
        bool accesses = isa<GetOp, PutOp, AccumulateOp, ForEachOp, tensor::GenerateOp>(inner);
        return accesses ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void BarrierPlacement::leaveOpen(ArrayRef<Open> accesses) {
  for (const Open &next : accesses)
    if (llvm::none_of(open, [&](const Open &other) {
          return other.access == next.access && other.age == next.age &&
                 other.isBeforeWarp == next.isBeforeWarp;
        }))
      open.push_back(next);
}

/// A warp barrier only separates accesses to elements of the same warp.
void BarrierPlacement::close(Scope scope) {
  if (scope == Scope::Block)
    open.clear();
  else if (scope == Scope::Warp)
    for (Open &other : open)
      other.isBeforeWarp |= other.access.ofWarp;
}

LogicalResult BarrierPlacement::addBarrier(Operation *before, Operation *op, Scope scope,
                                           StringRef where) {
  if (missing == Missing::Refuse)
    return op->emitOpError("needs a barrier ")
           << (scope == Scope::Warp ? "of its warp " : "") << where
           << ", between accesses of different threads that include a write; run "
           << "bgpu-insert-barriers";
  OpBuilder builder(before);
  if (scope == Scope::Warp) {
    WarpBarrierOp::create(builder, op->getLoc());
    ++numWarpBarriers;
  } else {
    gpu::BarrierOp::create(builder, op->getLoc());
    ++numBarriers;
  }
  close(scope);
  return success();
}

/// True if the accesses use different slots in the same or consecutive iterations of `next`.
bool BarrierPlacement::isOtherSlot(const Access &own, const Open &other) {
  std::optional<Access::Slot> before = other.access.slot;
  if (!own.slot || !before || own.array != other.access.array)
    return false;
  if (next && other.age == 1 && before->index == next.getInductionVar() &&
      isConstantIntValue(next.getStep(), 1))
    --before->offset;
  else if (other.age > 0)
    return false;
  return own.slot->differsFrom(*before);
}

Scope BarrierPlacement::findConflict(const Access &own, const Open &other) {
  Scope scope = isOtherSlot(own, other) ? Scope::None : own.findConflict(other.access);
  return scope == Scope::Warp && other.isBeforeWarp ? Scope::None : scope;
}

LogicalResult BarrierPlacement::visit(Operation *op) {
  FailureOr<SmallVector<Access>> accesses = getAccesses(op);
  if (failed(accesses))
    return failure();
  Scope waits = Scope::None;
  for (const Open &other : open)
    for (const Access &own : *accesses) {
      Scope scope = findConflict(own, other);
      waits = std::max(waits, scope);
      if (other.age > 0)
        waitsForBefore = std::max(waitsForBefore, scope);
    }
  auto addOpen = [&](ArrayRef<Access> own) {
    for (const Access &access : own)
      if (!access.isCopy)
        leaveOpen(Open{access, /*age=*/0});
  };
  if (waits != Scope::None && isTrying) {
    close(waits);
  } else if (waits != Scope::None) {
    Operation *place = op;
    while (isa<GetOp>(op) && isa_and_nonnull<GetOp>(place->getPrevNode()))
      place = place->getPrevNode();
    if (failed(addBarrier(place, op, waits, "before it")))
      return failure();
    for (; place != op; place = place->getNextNode())
      addOpen(*getAccesses(place));
  }
  addOpen(*accesses);
  return success();
}

FailureOr<Scope> BarrierPlacement::tryBlock(Block &block) {
  for (Open &access : open)
    ++access.age;
  bool wasTrying = std::exchange(isTrying, true);
  Scope waited = std::exchange(waitsForBefore, Scope::None);
  LogicalResult result = visitBlock(block);
  isTrying = wasTrying;
  Scope waits = std::exchange(waitsForBefore, waited);
  for (Open &access : open)
    access.age = std::max<int64_t>(access.age - 1, 0);
  if (failed(result))
    return failure();
  return waits;
}

LogicalResult BarrierPlacement::visitLoop(scf::ForOp loop) {
  Block &body = *loop.getBody();
  SmallVector<Open> before = open;
  scf::ForOp outer = std::exchange(next, nullptr);
  FailureOr<Scope> first = tryBlock(body);
  if (failed(first))
    return failure();
  open = before;
  if (*first != Scope::None && !isTrying) {
    if (failed(addBarrier(loop, loop, *first, "before its first iteration")))
      return failure();
    before = open;
  }
  if (failed(visitBlock(body)))
    return failure();
  next = loop;
  FailureOr<Scope> again = tryBlock(body);
  next = outer;
  if (failed(again))
    return failure();
  if (*again != Scope::None && !isTrying &&
      failed(addBarrier(body.getTerminator(), loop, *again, "between its iterations")))
    return failure();
  // A loop without iterations leaves the earlier accesses open.
  leaveOpen(before);
  return success();
}

/// All threads of a block take the same branch.
LogicalResult BarrierPlacement::visitBranches(scf::IfOp branch) {
  SmallVector<Open> before = open;
  if (failed(visitBlock(*branch.thenBlock())))
    return failure();
  std::swap(open, before);
  if (branch.elseBlock() && failed(visitBlock(*branch.elseBlock())))
    return failure();
  leaveOpen(before);
  return success();
}

LogicalResult BarrierPlacement::visitBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    LogicalResult result = success();
    if (isa<gpu::BarrierOp, GridBarrierOp>(op))
      close(Scope::Block);
    else if (isa<WarpBarrierOp>(op))
      close(Scope::Warp);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      result = visitLoop(loop);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      result = visitBranches(branch);
    else if (holdsBlockAccesses(op))
      return op.emitOpError("holds accesses of a block, which only scf.for and scf.if can have");
    else
      result = visit(&op);
    if (failed(result))
      return failure();
  }
  return success();
}
