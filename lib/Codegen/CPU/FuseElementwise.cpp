//===- FuseElementwise.cpp - fuse elementwise loops -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Codegen/CPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace bppsa {
#define GEN_PASS_DEF_FUSEELEMENTWISE
#include "bppsa/Codegen/CPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static bool makesElementEachIteration(linalg::GenericOp op) {
  return op && op.getNumResults() == 1 && op.getNumParallelLoops() == op.getNumLoops() &&
         op.getIndexingMapMatchingResult(cast<OpResult>(op->getResult(0))).isIdentity();
}

static bool isProduct(Value value) {
  while (auto negated = value.getDefiningOp<arith::NegFOp>())
    value = negated.getOperand();
  return value.getDefiningOp<arith::MulFOp>() != nullptr;
}

/// Returns true if contraction after fusion would replace two roundings with one.
static bool changesRounding(linalg::GenericOp producer, OpOperand *operand) {
  auto consumer = cast<linalg::GenericOp>(operand->getOwner());
  return isProduct(producer.getBody()->getTerminator()->getOperand(0)) &&
         llvm::any_of(consumer.getMatchingBlockArgument(operand).getUsers(),
                      llvm::IsaPred<arith::AddFOp, arith::SubFOp, arith::NegFOp>);
}

/// Maximum readers that each recompute a producer.
static constexpr int64_t kMaxReaders = 2;

/// Returns true if recomputing `producer` is cheaper than evaluating a math function.
static bool isCheap(linalg::GenericOp producer) {
  return llvm::all_of(producer.getBody()->without_terminator(), [](Operation &op) {
    return isa<arith::ArithDialect>(op.getDialect()) || isa<linalg::IndexOp>(op);
  });
}

/// Returns true if the fusion neither changes rounding nor duplicates computation nor changes the
/// order of reads; with `recompute`, cheap producers may be duplicated.
static bool isWorthFusing(OpOperand *operand, bool recompute) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = cast<linalg::GenericOp>(operand->getOwner());
  if (!makesElementEachIteration(producer) || !makesElementEachIteration(consumer) ||
      changesRounding(producer, operand))
    return false;
  AffineMap map = consumer.getMatchingIndexingMap(operand);
  if (operand->get().hasOneUse() && map.isIdentity())
    return true;
  return recompute && !operand->get().hasNUsesOrMore(kMaxReaders + 1) &&
         map.isProjectedPermutation() && isCheap(producer);
}

namespace {
struct FuseElementwise : public bppsa::impl::FuseElementwiseBase<FuseElementwise> {
  using FuseElementwiseBase::FuseElementwiseBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseOpsFusionPatterns(
        patterns, [this](OpOperand *operand) { return isWorthFusing(operand, recompute); });
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal();
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
