//===- FuseElementwise.cpp - elementwise loops as one ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace bppsa {
#define GEN_PASS_DEF_FUSEELEMENTWISE
#include "bppsa/Transforms/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Whether `op` is a loop nest with an element of its result for each iteration, in their order.
static bool makesElementEachIteration(linalg::GenericOp op) {
  return op && op.getNumResults() == 1 && op.getNumParallelLoops() == op.getNumLoops() &&
         op.getIndexingMapMatchingResult(cast<OpResult>(op->getResult(0))).isIdentity();
}

/// Whether `value` is a product, of any sign, that code generation joins with a sum of it.
static bool isProduct(Value value) {
  while (auto negated = value.getDefiningOp<arith::NegFOp>())
    value = negated.getOperand();
  return value.getDefiningOp<arith::MulFOp>() != nullptr;
}

/// Whether the sum of a product, which is rounded once, would be made of two roundings of
/// `operand`.
static bool changesRounding(linalg::GenericOp producer, OpOperand *operand) {
  auto consumer = cast<linalg::GenericOp>(operand->getOwner());
  return isProduct(producer.getBody()->getTerminator()->getOperand(0)) &&
         llvm::any_of(consumer.getMatchingBlockArgument(operand).getUsers(),
                      llvm::IsaPred<arith::AddFOp, arith::SubFOp, arith::NegFOp>);
}

/// Readers of what is computed again for each of them.
static constexpr int64_t kMostReaders = 2;

/// Whether computing `producer` again takes less than a function does.
static bool isCheap(linalg::GenericOp producer) {
  return llvm::all_of(producer.getBody()->without_terminator(), [](Operation &op) {
    return isa<arith::ArithDialect>(op.getDialect()) || isa<linalg::IndexOp>(op);
  });
}

/// Whether `operand` is better computed again where it is read than launched on its own.
static bool isWorthRecomputing(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = cast<linalg::GenericOp>(operand->getOwner());
  return makesElementEachIteration(producer) && makesElementEachIteration(consumer) &&
         operand->get().hasNUsesOrMore(1) && !operand->get().hasNUsesOrMore(kMostReaders + 1) &&
         consumer.getMatchingIndexingMap(operand).isProjectedPermutation() && isCheap(producer) &&
         !changesRounding(producer, operand);
}

/// Whether what makes `operand` is better computed where it is read: nothing is computed twice or
/// rounded in another way, and every array is read in the order of its elements as before.
static bool isWorthFusing(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = cast<linalg::GenericOp>(operand->getOwner());
  return makesElementEachIteration(producer) && makesElementEachIteration(consumer) &&
         operand->get().hasOneUse() && consumer.getMatchingIndexingMap(operand).isIdentity() &&
         !changesRounding(producer, operand);
}

namespace {
struct FuseElementwise : public bppsa::impl::FuseElementwiseBase<FuseElementwise> {
  using FuseElementwiseBase::FuseElementwiseBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseOpsFusionPatterns(patterns, [this](OpOperand *operand) {
      return isWorthFusing(operand) || (recompute && isWorthRecomputing(operand));
    });
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal();
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
