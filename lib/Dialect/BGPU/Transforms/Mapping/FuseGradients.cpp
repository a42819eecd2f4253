//===- FuseGradients.cpp - fuse gradient sums into chains -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BGPU/Analysis/DeviceMapping.h"
#include "bppsa/Dialect/BGPU/Transforms/Mapping/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/RegionUtils.h"

namespace bppsa {
#define GEN_PASS_DEF_FUSEGRADIENTS
#include "bppsa/Dialect/BGPU/Transforms/Mapping/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
/// A sum over steps and samples of an emitted value, and the operation that computes it.
struct FusedSum {
  Operation *leaf;
  unsigned emitted;
  /// Null for a plain sum.
  Value factor;
};
} // namespace

/// Such launches run link by link with emitted values in registers.
static bool keepsEmittedInRegisters(PlanAttr plan) {
  return plan.isSequential() || plan.getAlgorithm() == ScanAlgorithm::Chunked;
}

/// The other operand of each sum must be definable before `op`.
static SmallVector<FusedSum> findSums(ChainOp op, RewriterBase &rewriter) {
  SmallVector<FusedSum> found;
  for (auto [index, emitted] : llvm::enumerate(op.getEmitted()))
    for (Operation *user : emitted.getUsers()) {
      if (user->getBlock() != op->getBlock())
        continue;
      unsigned number = index;
      if (isa<StepSumOp>(user))
        found.push_back({user, number, Value()});
      else if (auto leaf = dyn_cast<OuterSumOp>(user); leaf && leaf.getLhs() == emitted)
        if (succeeded(moveValueDefinitions(rewriter, leaf.getRhs(), op)))
          found.push_back({user, number, leaf.getRhs()});
    }
  llvm::sort(found,
             [](const FusedSum &a, const FusedSum &b) { return a.leaf->isBeforeInBlock(b.leaf); });
  return found;
}

static std::pair<SmallVector<Value>, SmallVector<int64_t>> getFactors(ArrayRef<FusedSum> sums) {
  SmallVector<Value> factors;
  SmallVector<int64_t> sumWith;
  for (const FusedSum &sum : sums) {
    if (sum.factor && !llvm::is_contained(factors, sum.factor))
      factors.push_back(sum.factor);
    sumWith.push_back(sum.factor ? llvm::find(factors, sum.factor) - factors.begin() : kNoFactor);
  }
  return {factors, sumWith};
}

static void yieldSummed(Block &body, unsigned numStates, ArrayRef<FusedSum> sums) {
  Operation *yield = body.getTerminator();
  SmallVector<Value> values;
  for (const FusedSum &sum : sums)
    values.push_back(yield->getOperand(numStates + sum.emitted));
  yield->insertOperands(yield->getNumOperands(), values);
}

static FailureOr<bool> fitRegisters(ChainOp op, ArrayRef<FusedSum> sums) {
  auto [factors, sumWith] = getFactors(sums);
  CotangentLoop loop = getCotangentLoop(op);
  loop.factors = factors;
  loop.sumWith = sumWith;
  std::unique_ptr<Region> link = cloneLink(loop, {});
  Block &body = link->front();
  yieldSummed(body, op.getSeeds().size(), sums);
  return fitsSums(getLoopBody(loop, body, {}));
}

static ChainOp createWithSums(OpBuilder &builder, ChainOp op, TypeRange emitted, TypeRange sums,
                              ValueRange factors, ArrayRef<int64_t> sumWith) {
  ChainOptions options = getOptions(op);
  options.sums.assign(sums.begin(), sums.end());
  options.sumWith.assign(sumWith.begin(), sumWith.end());
  options.factors.assign(factors.begin(), factors.end());
  return ChainOp::create(builder, op.getLoc(), op.getCotangents().getTypes(), emitted,
                         op.getSaved(), op.getSeeds(), op.getInjected(), op.getInjectInto(),
                         op.getCaptures(), options);
}

/// Redirects queries for the numbers of steps and samples to `other`, so they do not keep emitted
/// sequences alive.
static void redirectDimQueries(Value other, ValueRange sequences) {
  for (Value sequence : sequences)
    for (Operation *user : llvm::make_early_inc_range(sequence.getUsers()))
      if (auto dim = dyn_cast<tensor::DimOp>(user); dim && dim.getConstantIndex().value_or(2) < 2)
        dim.getSourceMutable().assign(other);
}

static void fuse(ChainOp op, ArrayRef<FusedSum> sums, RewriterBase &rewriter) {
  unsigned numStates = op.getSeeds().size();
  redirectDimQueries(op.getSaved()[0], op.getEmitted());
  Block &body = op.getBody().front();
  yieldSummed(body, numStates, sums);
  SmallVector<Type> sumTypes, emittedTypes;
  for (const FusedSum &sum : sums)
    sumTypes.push_back(sum.leaf->getResult(0).getType());
  SmallVector<Value> read;
  for (Value emitted : op.getEmitted())
    if (llvm::any_of(emitted.getUsers(), [&](Operation *user) {
          return llvm::none_of(sums, [&](const FusedSum &sum) { return sum.leaf == user; });
        })) {
      read.push_back(emitted);
      emittedTypes.push_back(emitted.getType());
    }
  for (unsigned i = op.getEmitted().size(); i-- > 0;)
    if (!llvm::is_contained(read, op.getEmitted()[i]))
      body.getTerminator()->eraseOperand(numStates + i);

  auto [factors, sumWith] = getFactors(sums);
  rewriter.setInsertionPoint(op);
  auto fused = createWithSums(rewriter, op, emittedTypes, sumTypes, factors, sumWith);
  fused->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  fused.getBody().takeBody(op.getBody());
  for (auto [sum, result] : llvm::zip_equal(sums, fused.getSums()))
    rewriter.replaceOp(sum.leaf, result);
  for (auto [emitted, result] : llvm::zip_equal(read, fused.getEmitted()))
    rewriter.replaceAllUsesWith(emitted, result);
  rewriter.replaceAllUsesWith(op.getCotangents(), fused.getCotangents());
  rewriter.eraseOp(op);
}

static LogicalResult fuseSums(ChainOp op, RewriterBase &rewriter) {
  if (!keepsEmittedInRegisters(op.getPlan()) || op.getLanes() || !op.getSums().empty() ||
      !op.getDestinations().empty())
    return success();
  SmallVector<FusedSum> sums = findSums(op, rewriter);
  if (sums.empty())
    return success();
  FailureOr<bool> fits = fitRegisters(op, sums);
  if (failed(fits))
    return failure();
  if (*fits)
    fuse(op, sums, rewriter);
  return success();
}

namespace {
struct FuseGradients : public bppsa::impl::FuseGradientsBase<FuseGradients> {
  void runOnOperation() override {
    SmallVector<ChainOp> chains;
    getOperation().walk([&](ChainOp chain) { chains.push_back(chain); });
    IRRewriter rewriter(&getContext());
    for (ChainOp chain : chains)
      if (failed(fuseSums(chain, rewriter)))
        return signalPassFailure();
  }
};
} // namespace
