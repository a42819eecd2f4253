//===- ExpandMath.cpp - polynomials for transcendental functions ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Codegen/CPU/Passes.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace bppsa {
#define GEN_PASS_DEF_EXPANDMATH
#include "bppsa/Codegen/CPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static Type withElementType(Type like, Type element) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? vector.clone(element) : element;
}

static Value splat(ImplicitLocOpBuilder &builder, Type type, TypedAttr value) {
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(builder, DenseElementsAttr::get(vector, Attribute(value)));
  return arith::ConstantOp::create(builder, value);
}

/// Emits e^-x for |x| <= 88: -x = n log 2 - r, e^-x = 2^n (1 - r + r^2 p(r)). LLVM would move a
/// negation of the argument into the clamping selects and no longer recognise min and max.
static Value emitExpOfNegated(ImplicitLocOpBuilder &builder, Value x) {
  Type type = x.getType();
  auto constant = [&](float value) { return splat(builder, type, builder.getF32FloatAttr(value)); };
  // Adding 3 * 2^22 rounds -x / log 2 and leaves n in the lowest bits, without a conversion, which
  // is slow on GPUs.
  Value large = constant(12582912.0f);
  Value rounded = math::FmaOp::create(builder, x, constant(-1.44269504088896341f), large);
  Value n = arith::SubFOp::create(builder, rounded, large);
  // log 2 in two parts: the first has few bits, so its multiples are exact.
  Value r = math::FmaOp::create(builder, n, constant(0.693359375f), x);
  r = math::FmaOp::create(builder, n, constant(-2.12194440e-4f), r);
  Value p = constant(-1.9875691500e-4f);
  for (float coefficient : {1.3981999507e-3f, -8.3334519073e-3f, 4.1665795894e-2f,
                            -1.6666665459e-1f, 5.0000001201e-1f, -1.0f, 1.0f})
    p = math::FmaOp::create(builder, p, r, constant(coefficient));
  Type integers = withElementType(type, builder.getI32Type());
  auto integer = [&](int32_t value) {
    return splat(builder, integers, builder.getI32IntegerAttr(value));
  };
  Value exponent = arith::ShLIOp::create(
      builder, arith::BitcastOp::create(builder, integers, rounded), integer(23));
  Value bits = arith::AddIOp::create(builder, exponent, integer(127 << 23));
  return arith::MulFOp::create(builder, p, arith::BitcastOp::create(builder, type, bits));
}

namespace {
struct ExpandSigmoid : OpRewritePattern<SigmoidOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SigmoidOp op, PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return rewriter.notifyMatchFailure(op, "only f32 has a polynomial");
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    auto constant = [&](float value) {
      return splat(builder, type, builder.getF32FloatAttr(value));
    };
    Value x = op.getOperand();
    // A NaN fails these comparisons and passes through.
    auto limit = [&](arith::CmpFPredicate predicate, float bound) {
      Value value = constant(bound);
      Value beyond = arith::CmpFOp::create(builder, predicate, value, x);
      x = arith::SelectOp::create(builder, beyond, value, x);
    };
    limit(arith::CmpFPredicate::OGT, -88.0f);
    limit(arith::CmpFPredicate::OLT, 87.0f);
    Value sum = arith::AddFOp::create(builder, emitExpOfNegated(builder, x), constant(1.0f));
    rewriter.replaceOpWithNewOp<arith::DivFOp>(op, constant(1.0f), sum);
    return success();
  }
};

/// math.fma requires a single rounding, which is a call on targets without the instruction;
/// vector.fma leaves rounding to the target.
struct RelaxFma : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op, PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    if (isa<VectorType>(op.getType())) {
      rewriter.replaceOpWithNewOp<vector::FMAOp>(op, op.getA(), op.getB(), op.getC());
      return success();
    }
    auto type = VectorType::get(1, op.getType());
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(vector::BroadcastOp::create(rewriter, loc, type, operand));
    Value fma = vector::FMAOp::create(rewriter, loc, operands[0], operands[1], operands[2]);
    rewriter.replaceOpWithNewOp<vector::ExtractOp>(op, fma, ArrayRef<int64_t>{0});
    return success();
  }
};

struct MarkReciprocals : public RewriterBase::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (auto division = dyn_cast<arith::DivFOp>(op))
      division.setFastmath(division.getFastmath() | arith::FastMathFlags::arcp);
  }
};

/// Starting from these few operations is faster than visiting all.
static LogicalResult expand(ModuleOp module, RewritePatternSet patterns,
                            RewriterBase::Listener *listener) {
  SmallVector<Operation *> functions;
  module.walk([&](Operation *op) {
    if (isa<SigmoidOp>(op) || isa_and_nonnull<math::MathDialect>(op->getDialect()))
      functions.push_back(op);
  });
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  config.setListener(listener);
  return applyOpPatternsGreedily(functions, std::move(patterns), config);
}

struct ExpandMath : public bppsa::impl::ExpandMathBase<ExpandMath> {
  using ExpandMathBase::ExpandMathBase;

  void runOnOperation() override {
    RewritePatternSet quotients(&getContext()), patterns(&getContext());
    populatePolynomialApproximateTanhPattern(quotients);
    quotients.add<ExpandSigmoid>(&getContext());
    MarkReciprocals marker;
    populateMathPolynomialApproximationPatterns(patterns);
    patterns.add<RelaxFma>(&getContext());
    if (failed(expand(getOperation(), std::move(quotients), reciprocals ? &marker : nullptr)) ||
        failed(expand(getOperation(), std::move(patterns), /*listener=*/nullptr)))
      signalPassFailure();
  }
};
} // namespace
