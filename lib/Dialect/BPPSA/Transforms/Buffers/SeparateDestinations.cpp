//===- SeparateDestinations.cpp - separate destinations for operations ----===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// CSE merges empty tensors and fills. Writes to them then conflict: bufferization time becomes
// cubic, and all but one write copies memory.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace bppsa {
#define GEN_PASS_DEF_SEPARATEDESTINATIONS
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Gives each operation that contains one of `uses` a clone of `op`.
static void separate(Operation *op, ArrayRef<OpOperand *> uses) {
  llvm::MapVector<Operation *, SmallVector<OpOperand *, 1>> users;
  for (OpOperand *use : uses)
    users[op->getBlock()->findAncestorOpInBlock(*use->getOwner())].push_back(use);
  if (users.size() < 2)
    return;
  OpBuilder builder(op);
  for (auto &[user, uses] : users) {
    builder.setInsertionPoint(user);
    Value copy = builder.clone(*op)->getResult(0);
    for (OpOperand *use : uses)
      use->set(copy);
  }
  if (op->use_empty())
    op->erase();
}

static SmallVector<OpOperand *> getUses(Operation *op, function_ref<bool(OpOperand &)> isWanted) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : op->getUses())
    if (isWanted(use))
      uses.push_back(&use);
  return uses;
}

static bool isDestination(OpOperand &use) {
  auto op = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
  return op && op.isDpsInit(&use);
}

/// Slices are later inserted at the same place.
static bool isWrittenInSlices(tensor::EmptyOp empty) {
  return llvm::any_of(empty->getUsers(), llvm::IsaPred<tensor::ExtractSliceOp>);
}

namespace {
struct SeparateDestinations : public bppsa::impl::SeparateDestinationsBase<SeparateDestinations> {
  void runOnOperation() override {
    // Each cloned fill then needs a separate empty tensor.
    SmallVector<linalg::FillOp> fills;
    getOperation().walk([&](linalg::FillOp fill) { fills.push_back(fill); });
    for (linalg::FillOp fill : fills)
      if (fill->getNumResults() == 1)
        separate(fill, getUses(fill, isDestination));
    SmallVector<tensor::EmptyOp> empties;
    getOperation().walk([&](tensor::EmptyOp empty) { empties.push_back(empty); });
    for (tensor::EmptyOp empty : empties)
      if (!isWrittenInSlices(empty))
        separate(empty, getUses(empty, [](OpOperand &) { return true; }));
  }
};
} // namespace
