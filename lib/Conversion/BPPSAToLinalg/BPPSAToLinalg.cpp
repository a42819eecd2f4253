//===- BPPSAToLinalg.cpp - bppsa to loops and linalg on tensors -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// This pass is the plain way down to upstream dialects: time becomes scf.for,
// a body for one sample becomes linalg.generic on a whole batch, a transposed
// Jacobian becomes a dense tensor. It favours clarity over speed; recurrent
// cells are compiled by convert-bppsa-to-vector.
//
//===----------------------------------------------------------------------===//

#include "BatchedBody.h"
#include "Patterns.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {
#define GEN_PASS_DEF_CONVERTBPPSATOLINALG
#include "bppsa/Conversion/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
/// Sigmoids of graphs: of tensors, or of scalars in the body of linalg.generic.
struct ConvertSigmoid : OpConversionPattern<SigmoidOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(SigmoidOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value operand = adaptor.getOperand();
    if (isa<FloatType>(op.getType())) {
      rewriter.replaceOp(op, createScalarSigmoid(rewriter, loc, operand));
      return success();
    }
    auto type = cast<RankedTensorType>(op.getType());
    Value empty = tensor::EmptyOp::create(
        rewriter, loc, tensor::getMixedSizes(rewriter, loc, operand), type.getElementType());
    SmallVector<AffineMap> maps(2, rewriter.getMultiDimIdentityMap(type.getRank()));
    SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
    rewriter.replaceOpWithNewOp<linalg::GenericOp>(
        op, type, operand, empty, maps, iterators,
        [](OpBuilder &nested, Location nestedLoc, ValueRange elements) {
          linalg::YieldOp::create(nested, nestedLoc,
                                  createScalarSigmoid(nested, nestedLoc, elements.front()));
        });
    return success();
  }
};

/// Ops that are the identity once a graph is differentiated.
template <typename OpTy> struct ForwardOperand : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;

  LogicalResult matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getOperands().front());
    return success();
  }
};

/// What no pass has specialised is of a model that is not trained.
struct ConvertRunningStatistic : OpConversionPattern<RunningStatisticOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(RunningStatisticOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, {adaptor.getRunning(), adaptor.getRunning()});
    return success();
  }
};

/// Upstream run times have no phases.
struct EraseMarkPhase : OpConversionPattern<MarkPhaseOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(MarkPhaseOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertBPPSAToLinalgPass
    : public bppsa::impl::ConvertBPPSAToLinalgBase<ConvertBPPSAToLinalgPass> {
  void runOnOperation() override {
    if (failed(checkConvertible(getOperation())))
      return signalPassFailure();
    MLIRContext *context = &getContext();
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion([](JacobianType type) { return type.getDenseType(); });

    ConversionTarget target(*context);
    target.addIllegalDialect<BPPSADialect>();
    target.markUnknownOpDynamicallyLegal([&](Operation *op) { return converter.isLegal(op); });
    target.addDynamicallyLegalOp<func::FuncOp>(
        [&](func::FuncOp op) { return converter.isSignatureLegal(op.getFunctionType()); });

    RewritePatternSet patterns(context);
    populateLayoutPatterns(patterns, converter);
    populateProductPatterns(patterns, converter);
    populateTimeLoopPatterns(patterns, converter);
    patterns.add<ConvertSigmoid, ConvertRunningStatistic, EraseMarkPhase, ForwardOperand<DropoutOp>,
                 ForwardOperand<StopGradientOp>>(converter, context);
    populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns, converter);
    populateCallOpTypeConversionPattern(patterns, converter);
    populateReturnOpTypeConversionPattern(patterns, converter);
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
