//===- Losses.cpp - losses as tensor graphs -------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Losses.h"
#include "../Rules/ElementwiseVJP.h"
#include "LossReductions.h"

using namespace mlir;
using namespace mlir::arith;
using namespace bppsa;

static Value buildSquare(OpBuilder &b, Location loc, Value x, Value t) {
  Value distance = SubFOp::create(b, loc, x, t);
  return MulFOp::create(b, loc, distance, distance);
}

static Value buildAbsolute(OpBuilder &b, Location loc, Value x, Value t) {
  Value distance = SubFOp::create(b, loc, x, t);
  return math::AbsFOp::create(b, loc, distance);
}

static Value buildHuber(OpBuilder &b, Location loc, Value x, Value t) {
  Value half = createFloat(b, loc, x.getType(), 0.5), one = createFloat(b, loc, x.getType(), 1);
  Value absolute = buildAbsolute(b, loc, x, t);
  Value quadratic = MulFOp::create(b, loc, half, buildSquare(b, loc, x, t));
  Value linear = SubFOp::create(b, loc, absolute, half);
  Value isNear = CmpFOp::create(b, loc, CmpFPredicate::OLE, absolute, one);
  return SelectOp::create(b, loc, isNear, quadratic, linear);
}

/// `(1 - t) x + m + log(exp(-m) + exp(-x - m))`. The shift `m = max(-x, 0)` keeps the exponentials
/// finite and needs no derivative.
static Value buildBCEWithLogits(OpBuilder &b, Location loc, Value x, Value t) {
  Value zero = createFloat(b, loc, x.getType(), 0), one = createFloat(b, loc, x.getType(), 1);
  Value negative = NegFOp::create(b, loc, x);
  Value maximum = MaximumFOp::create(b, loc, negative, zero);
  Value shift = StopGradientOp::create(b, loc, maximum);
  Value first = math::ExpOp::create(b, loc, NegFOp::create(b, loc, shift));
  Value second = math::ExpOp::create(b, loc, SubFOp::create(b, loc, negative, shift));
  Value log = math::LogOp::create(b, loc, AddFOp::create(b, loc, first, second));
  Value softplus = AddFOp::create(b, loc, shift, log);
  Value linear = MulFOp::create(b, loc, SubFOp::create(b, loc, one, t), x);
  return AddFOp::create(b, loc, linear, softplus);
}

static Value buildPositionLoss(OpBuilder &b, Location loc, LossKind kind, Value x, Value t) {
  switch (kind) {
  case LossKind::MSE:
    return buildSquare(b, loc, x, t);
  case LossKind::L1:
    return buildAbsolute(b, loc, x, t);
  case LossKind::Huber:
    return buildHuber(b, loc, x, t);
  case LossKind::BCEWithLogits:
    return buildBCEWithLogits(b, loc, x, t);
  default:
    llvm_unreachable("not a loss of one output and one target");
  }
}

Value bppsa::createLoss(OpBuilder &builder, Location loc, const LossOptions &options, Value output,
                        Value target, Value weight) {
  LossKind kind = options.kind;
  auto type = cast<RankedTensorType>(output.getType());
  switch (kind) {
  case LossKind::None:
    return type.getRank() == 0
               ? output
               : tensor::CollapseShapeOp::create(builder, loc,
                                                 RankedTensorType::get({}, type.getElementType()),
                                                 output, ArrayRef<ReassociationIndices>())
                     .getResult();
  case LossKind::VJP:
    return createSumOfProducts(builder, loc, output, target);
  case LossKind::CrossEntropy:
  case LossKind::NLL:
    return createClassLoss(builder, loc, options, output, target, weight);
  default:
    return createMean(
        builder, loc, {output, target}, weight,
        [&](OpBuilder &b, Location loc, ValueRange arguments) {
          return buildPositionLoss(b, loc, kind, arguments[0], arguments[1]);
        },
        options.mayLackWeight);
  }
}

Value bppsa::createLossSum(OpBuilder &builder, Location loc, ValueRange losses,
                           ArrayRef<double> factors) {
  auto type = cast<RankedTensorType>(losses[0].getType());
  Value empty = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>(), type.getElementType());
  SmallVector<AffineMap> maps(losses.size() + 1, AffineMap::get(builder.getContext()));
  return linalg::GenericOp::create(
             builder, loc, TypeRange{type}, losses, ValueRange{empty}, maps,
             ArrayRef<utils::IteratorType>(),
             [&](OpBuilder &b, Location loc, ValueRange arguments) {
               Value sum;
               for (auto [loss, factor] : llvm::zip(arguments, factors)) {
                 Value term =
                     MulFOp::create(b, loc, loss, createFloat(b, loc, loss.getType(), factor));
                 sum = sum ? AddFOp::create(b, loc, sum, term).getResult() : term;
               }
               linalg::YieldOp::create(b, loc, sum);
             })
      .getResult(0);
}
