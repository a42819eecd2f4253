//===- FuseElementwise.cpp - elementwise loops as one ---------------------===//
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
static constexpr int64_t kMaxReaders = 2;

/// Whether computing `producer` again takes less than a function does.
static bool isCheap(linalg::GenericOp producer) {
  return llvm::all_of(producer.getBody()->without_terminator(), [](Operation &op) {
    return isa<arith::ArithDialect>(op.getDialect()) || isa<linalg::IndexOp>(op);
  });
}

/// Whether what makes `operand` is better computed where it is read: nothing is rounded in another
/// way and, but for what is cheap with `recompute`, nothing is computed twice and every array is
/// read in the order of its elements as before.
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
