//===- FuseInjected.cpp - fuses injected cotangents into chains -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Computes the cotangents of outputs inside the link, so they are never stored and gradients of the
// next layer are summed while sequences are cached.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/RunningSums.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "bppsa/Dialect/BPPSA/Utils/BodyRewrites.h"
#include "bppsa/Dialect/BPPSA/Utils/MultiplyAdds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace bppsa {
#define GEN_PASS_DEF_FUSEINJECTED
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static bool arePhasesApart(Operation *first, Operation *last) {
  for (Operation *op = first; op != last; op = op->getNextNode())
    if (isa<MarkPhaseOp>(op))
      return true;
  return false;
}

/// Returns the loop without states that computes only injected sequence `number` of `chain`, if the
/// chain can compute it instead; null otherwise. Threads parallelize a chain over blocks of
/// samples, and a loop without states also over steps. Therefore the chain only takes over a loop
/// with no more work than its own.
static RecurrenceOp findProducer(ChainOp chain, unsigned number) {
  Value injected = chain.getInjected()[number];
  auto loop = injected.getDefiningOp<RecurrenceOp>();
  bool isMaker = loop && loop->getBlock() == chain->getBlock() && injected.hasOneUse() &&
                 loop.getInitial().empty() && loop->getNumResults() == 1 &&
                 loop.getDestinations().empty() && !loop.isGraphForm() && !loop.getSteps() &&
                 loop.getLanesAttr() == chain.getLanesAttr();
  return isMaker &&
                 countMultiplyAdds(loop.getBody().front()) <=
                     countMultiplyAdds(chain.getBody().front()) &&
                 !arePhasesApart(loop, chain)
             ? loop
             : RecurrenceOp();
}

/// Adds the value that `maker` yields to the cotangent of `state` in `body`, the body of the chain.
/// Arguments for the sequences are inserted after the `numSaved` saved values, and arguments for
/// captures at the end.
static void inlineProducer(Block &body, RecurrenceOp maker, unsigned numSaved, unsigned state) {
  BlockArgument cotangent = body.getArgument(numSaved + state);
  Block &made = maker.getBody().front();
  size_t numSequences = maker.getSequences().size();
  IRMapping mapping;
  for (auto [i, argument] : llvm::enumerate(made.getArguments()))
    mapping.map(argument,
                i < numSequences
                    ? body.insertArgument(numSaved + i, argument.getType(), argument.getLoc())
                    : body.addArgument(argument.getType(), argument.getLoc()));
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  for (Operation &op : made.without_terminator())
    builder.clone(op, mapping);
  Value value = mapping.lookup(made.getTerminator()->getOperand(0));
  auto sum = arith::AddFOp::create(builder, maker.getLoc(), cotangent, value);
  cotangent.replaceAllUsesExcept(sum, sum);
  fuseProductSums(body);
}

static ChainOp fuse(IRRewriter &rewriter, ChainOp chain, RecurrenceOp maker, unsigned number) {
  SmallVector<Value> saved(chain.getSaved()), injected(chain.getInjected()),
      captures(chain.getCaptures());
  SmallVector<int64_t> injectInto(chain.getInjectInto());
  unsigned numSaved = saved.size(), state = injectInto[number];
  llvm::append_range(saved, maker.getSequences());
  llvm::append_range(captures, maker.getCaptures());
  injected.erase(injected.begin() + number);
  injectInto.erase(injectInto.begin() + number);
  rewriter.setInsertionPoint(chain);
  ChainOptions options = getOptions(chain);
  options.structure = {};
  options.terms = {};
  auto fused = ChainOp::create(rewriter, rewriter.getFusedLoc({chain.getLoc(), maker.getLoc()}),
                               chain.getCotangents().getTypes(), chain.getEmitted().getTypes(),
                               saved, chain.getSeeds(), injected, injectInto, captures, options);
  fused->setDiscardableAttrs(chain->getDiscardableAttrDictionary());
  fused.getBody().takeBody(chain.getBody());
  inlineProducer(fused.getBody().front(), maker, numSaved, state);
  rewriter.replaceOp(chain, fused->getResults());
  rewriter.eraseOp(maker);
  return fused;
}

/// Moves sums that read saved values, but no emitted values of other chains, after `chain`.
static void sinkSums(ChainOp chain) {
  SmallVector<Operation *> sums;
  for (Operation *op = chain->getPrevNode(); op && !isa<MarkPhaseOp>(op); op = op->getPrevNode()) {
    if (!isa<OuterSumOp, StepSumOp>(op) ||
        cast<PackableOpInterface>(op).getLanes() != chain.getLanes())
      continue;
    auto isSaved = [&](Value value) { return llvm::is_contained(chain.getSaved(), value); };
    auto isEmitted = [](Value value) { return isa_and_nonnull<ChainOp>(value.getDefiningOp()); };
    auto isBehind = [&](Operation *user) {
      Operation *inBlock = chain->getBlock()->findAncestorOpInBlock(*user);
      return inBlock && chain->isBeforeInBlock(inBlock);
    };
    if (llvm::any_of(getSummed(op), isSaved) && llvm::none_of(getSummed(op), isEmitted) &&
        llvm::all_of(op->getUsers(), isBehind))
      sums.push_back(op);
  }
  for (Operation *sum : sums)
    sum->moveAfter(chain);
}

namespace {
struct FuseInjected : public bppsa::impl::FuseInjectedBase<FuseInjected> {
  using FuseInjectedBase::FuseInjectedBase;

  void runOnOperation() override {
    SmallVector<ChainOp> chains;
    getOperation().walk([&](ChainOp chain) { chains.push_back(chain); });
    IRRewriter rewriter(&getContext());
    for (ChainOp chain : chains)
      if (chain.getLanes().value_or(1) != 1 && chain.getPlan().isSequential() &&
          !chain.isGraphForm())
        run(rewriter, chain);
  }

private:
  static void run(IRRewriter &rewriter, ChainOp chain) {
    bool isFused = false;
    for (unsigned number = chain.getInjected().size(); number-- > 0;)
      if (RecurrenceOp maker = findProducer(chain, number)) {
        chain = fuse(rewriter, chain, maker, number);
        isFused = true;
      }
    if (isFused)
      sinkSums(chain);
  }
};
} // namespace
