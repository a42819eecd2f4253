//===- BlockTime.cpp - chains fused with sums of emitted values -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A long sequence of emitted cotangents leaves every cache before a sum reads it. So a chain and
// its sums become one loop over blocks of time.
//
//===----------------------------------------------------------------------===//

#include "KernelGroups.h"
#include "bppsa/Codegen/CPU/Kernels/Passes.h"
#include "bppsa/Dialect/BPPSA/Analysis/RunningSums.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/Utils/ViewRoot.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace bppsa {
#define GEN_PASS_DEF_BLOCKTIME
#include "bppsa/Codegen/CPU/Kernels/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static ValueRange getEmitted(ChainOp chain) {
  return chain.getDestinations().drop_front(chain.getSeeds().size());
}

static void moveFillsInFrontOf(ChainOp chain) {
  SmallVector<linalg::FillOp> fills;
  for (Operation *op = chain->getNextNode(); op; op = op->getNextNode())
    if (auto fill = dyn_cast<linalg::FillOp>(op))
      fills.push_back(fill);
  for (linalg::FillOp fill : fills) {
    Value memory = fill.getDpsInits().front();
    auto isLater = [&](Operation *user) {
      Operation *inBlock = chain->getBlock()->findAncestorOpInBlock(*user);
      return inBlock == fill || (inBlock && fill->isBeforeInBlock(inBlock));
    };
    bool begins = memory.getDefiningOp<memref::AllocOp>() &&
                  llvm::any_of(memory.getUsers(), llvm::IsaPred<AddToSumsOp>) &&
                  llvm::all_of(memory.getUsers(), isLater);
    if (begins &&
        llvm::all_of(fill->getOperands(), [&](Value value) { return hoistBefore(chain, value); }))
      fill->moveBefore(chain);
  }
}

static void takeMemory(memref::AllocaScopeOp scope, ValueRange arrays) {
  Block &body = scope.getBodyRegion().front();
  for (Value array : arrays) {
    auto memory = array.getDefiningOp<memref::AllocOp>();
    if (!memory || !llvm::all_of(memory->getUsers(), [&](Operation *user) {
          return user->getBlock() == &body || isa<memref::DeallocOp>(user);
        }))
      continue;
    memory->moveBefore(&body, body.begin());
    for (Operation *user : memory->getUsers())
      if (isa<memref::DeallocOp>(user))
        user->moveBefore(body.getTerminator());
  }
}

/// Scopes `chain` and its sums with running sums of up to `maxBytes`.
static void scopeWithSums(ChainOp chain, int64_t maxBytes) {
  moveFillsInFrontOf(chain);
  SmallVector<Operation *> sums = chooseSums(
      findSumsAfter(chain, [&](Operation *op) { return isSumOverSequenceOf(op, chain); }),
      [&](Operation *sum) { return isSumOverEmitted(sum, chain); }, maxBytes);
  llvm::erase_if(sums, [&](Operation *sum) {
    return !llvm::all_of(sum->getOperands(),
                         [&](Value value) { return hoistBefore(chain, value); });
  });
  if (sums.empty())
    return;
  OpBuilder builder(chain);
  auto scope = memref::AllocaScopeOp::create(builder, chain.getLoc(), TypeRange());
  Block *body = builder.createBlock(&scope.getBodyRegion());
  auto terminator = memref::AllocaScopeReturnOp::create(builder, chain.getLoc());
  SmallVector<Value> emitted(getEmitted(chain));
  chain->moveBefore(terminator);
  for (Operation *sum : sums)
    sum->moveBefore(body, terminator->getIterator());
  takeMemory(scope, emitted);
}

namespace {
struct BlockTime : public bppsa::impl::BlockTimeBase<BlockTime> {
  using BlockTimeBase::BlockTimeBase;

  void runOnOperation() override {
    SmallVector<ChainOp> chains;
    getOperation().walk([&](ChainOp chain) { chains.push_back(chain); });
    for (ChainOp chain : chains)
      if (chain->getNumResults() == 0 && chain.getLanes().value_or(1) != 1 &&
          chain.getPlan().isSequential())
        scopeWithSums(chain, maxBytes);
  }
};
} // namespace
