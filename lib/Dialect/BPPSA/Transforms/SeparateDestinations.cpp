//===- SeparateDestinations.cpp - an empty tensor for each operation ------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Elimination of common subexpressions leaves one empty tensor of each size. Operations that write
// into the same one are then possible conflicts of each other, and what bufferization spends on
// them grows with the cube of their number.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace bppsa {
#define GEN_PASS_DEF_SEPARATEDESTINATIONS
#include "bppsa/Dialect/BPPSA/Transforms/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Gives each operation beside `empty` that uses it, itself or in its regions, a copy of its own.
static void separate(tensor::EmptyOp empty) {
  llvm::MapVector<Operation *, SmallVector<OpOperand *, 1>> users;
  for (OpOperand &use : empty->getUses())
    users[empty->getBlock()->findAncestorOpInBlock(*use.getOwner())].push_back(&use);
  if (users.size() < 2)
    return;
  OpBuilder builder(empty);
  for (auto &[user, uses] : users) {
    builder.setInsertionPoint(user);
    Value copy = builder.clone(*empty)->getResult(0);
    for (OpOperand *use : uses)
      use->set(copy);
  }
  empty.erase();
}

namespace {
struct SeparateDestinations : public bppsa::impl::SeparateDestinationsBase<SeparateDestinations> {
  void runOnOperation() override {
    SmallVector<tensor::EmptyOp> empties;
    getOperation().walk([&](tensor::EmptyOp empty) { empties.push_back(empty); });
    for (tensor::EmptyOp empty : empties)
      separate(empty);
  }
};
} // namespace
