//===- DirectionOps.cpp - directions of time ------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bppsa;

SmallVector<Operation *> bppsa::findDirectedLoops(Operation *root) {
  SmallVector<Operation *> loops;
  root->walk([&](Operation *op) {
    if (isa<RecurrenceOp, ChainOp, TransitionOp>(op))
      loops.push_back(op);
  });
  return loops;
}

bool bppsa::isReverse(Operation *loop) {
  return llvm::TypeSwitch<Operation *, bool>(loop).Case<RecurrenceOp, ChainOp, TransitionOp>(
      [](auto op) { return op.getReverse(); });
}

void bppsa::setReverse(Operation *loop, bool reverse) {
  llvm::TypeSwitch<Operation *>(loop).Case<RecurrenceOp, ChainOp, TransitionOp>(
      [&](auto op) { op.setReverse(reverse); });
}

LogicalResult ReverseIfOp::verifyRegions() {
  SmallVector<Operation *> loops = findDirectedLoops(*this);
  if (loops.size() != 1)
    return emitOpError() << "needs one recurrence, chain or transition in its body, found "
                         << loops.size() << "; use one op per loop";
  return success();
}
