//===- FoldResultCopies.cpp - writes results without copies ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace bppsa {
#define GEN_PASS_DEF_FOLDRESULTCOPIES
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Collects the reshapes of `view`, last first. Returns null without an allocation.
static memref::AllocOp findAllocation(Value view, SmallVectorImpl<Operation *> &reshapes) {
  while (Operation *op = view.getDefiningOp()) {
    if (!isa<memref::ExpandShapeOp, memref::CollapseShapeOp>(op))
      return dyn_cast<memref::AllocOp>(op);
    reshapes.push_back(op);
    view = op->getOperand(0);
  }
  return {};
}

/// Returns true if `memory` and its views are only deallocated after `copy`.
static bool isOnlyFreedAfter(Value memory, Operation *copy) {
  return llvm::all_of(memory.getUsers(), [&](Operation *user) {
    Operation *inBlock = copy->getBlock()->findAncestorOpInBlock(*user);
    if (!inBlock || (copy->isBeforeInBlock(inBlock) && !isa<memref::DeallocOp>(user)))
      return false;
    return llvm::all_of(user->getResults(), [&](Value result) {
      return !isa<BaseMemRefType>(result.getType()) || isOnlyFreedAfter(result, copy);
    });
  });
}

static Value undo(OpBuilder &builder, Operation *reshape, Value array) {
  auto type = cast<MemRefType>(reshape->getOperand(0).getType());
  if (auto expand = dyn_cast<memref::ExpandShapeOp>(reshape))
    return memref::CollapseShapeOp::create(builder, reshape->getLoc(), array,
                                           expand.getReassociationIndices());
  auto collapse = cast<memref::CollapseShapeOp>(reshape);
  return memref::ExpandShapeOp::create(builder, reshape->getLoc(), type, array,
                                       collapse.getReassociationIndices());
}

static bool fold(memref::CopyOp copy) {
  auto result = dyn_cast<BlockArgument>(copy.getTarget());
  SmallVector<Operation *> reshapes;
  memref::AllocOp allocation = findAllocation(copy.getSource(), reshapes);
  if (!result || !result.hasOneUse() || !allocation || allocation->getBlock() != copy->getBlock() ||
      !allocation.getType().hasStaticShape() || copy.getSource().getType() != result.getType() ||
      !isOnlyFreedAfter(allocation, copy))
    return false;
  for (Operation *user : llvm::make_early_inc_range(allocation->getUsers()))
    if (isa<memref::DeallocOp>(user))
      user->erase();
  OpBuilder builder(allocation);
  Value memory = result;
  for (Operation *reshape : reshapes)
    memory = undo(builder, reshape, memory);
  allocation.replaceAllUsesWith(memory);
  allocation.erase();
  copy.erase();
  return true;
}

namespace {
struct FoldResultCopies : public bppsa::impl::FoldResultCopiesBase<FoldResultCopies> {
  using FoldResultCopiesBase::FoldResultCopiesBase;

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    for (auto copy : llvm::make_early_inc_range(getOperation().getOps<memref::CopyOp>()))
      numFolded += fold(copy);
  }
};
} // namespace
