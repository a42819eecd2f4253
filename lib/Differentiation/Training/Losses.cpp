//===- Losses.cpp - losses as graphs on tensors ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Losses.h"
#include "../Rules/ElementwiseVJP.h"
#include "../TensorBuilders.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::arith;
using namespace bppsa;

std::optional<LossKind> bppsa::parseLossKind(StringRef name) {
  return llvm::StringSwitch<std::optional<LossKind>>(name)
      .Case("cross-entropy", LossKind::CrossEntropy)
      .Case("nll", LossKind::NLL)
      .Case("mse", LossKind::MSE)
      .Case("l1", LossKind::L1)
      .Case("huber", LossKind::Huber)
      .Case("bce-with-logits", LossKind::BCEWithLogits)
      .Case("none", LossKind::None)
      .Default(std::nullopt);
}

bool bppsa::hasClasses(LossKind kind) {
  return kind == LossKind::CrossEntropy || kind == LossKind::NLL;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Builds the new accumulator from the values of the inputs and the old one.
using BodyBuilder = function_ref<Value(OpBuilder &, Location, ValueRange)>;

/// A reduction of `inputs` over the dimensions from `firstReduced` of an
/// iteration space of `rank` dimensions. An input of lower rank is the same
/// along the last dimensions. The accumulator starts as `init`.
static Value createReduction(OpBuilder &builder, Location loc, ValueRange inputs, int64_t rank,
                             int64_t firstReduced, TypedAttr init, BodyBuilder body) {
  SmallVector<AffineMap> maps;
  SmallVector<OpFoldResult> sizes;
  auto leadingDims = [&](int64_t count) {
    AffineMap identity = builder.getMultiDimIdentityMap(rank);
    return AffineMap::get(rank, 0, identity.getResults().take_front(count), builder.getContext());
  };
  for (Value input : inputs) {
    int64_t inputRank = cast<RankedTensorType>(input.getType()).getRank();
    maps.push_back(leadingDims(inputRank));
    if (inputRank >= firstReduced && sizes.empty())
      sizes = tensor::getMixedSizes(builder, loc, input);
  }
  sizes.truncate(firstReduced);
  maps.push_back(leadingDims(firstReduced));
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::reduction);
  std::fill_n(iterators.begin(), firstReduced, utils::IteratorType::parallel);
  Value filled = createFilled(builder, loc, sizes, init);
  return linalg::GenericOp::create(
             builder, loc, TypeRange{filled.getType()}, inputs, ValueRange{filled}, maps, iterators,
             [&](OpBuilder &nested, Location loc, ValueRange arguments) {
               linalg::YieldOp::create(nested, loc, body(nested, loc, arguments));
             })
      .getResult(0);
}

/// The sum of `term` over all positions, accumulated in f64, divided by the
/// number of positions, as `tensor<f32>`. The inputs share the shape of the
/// first one.
static Value createMean(OpBuilder &builder, Location loc, ValueRange inputs, BodyBuilder term) {
  auto type = cast<RankedTensorType>(inputs[0].getType());
  Value sum = createReduction(builder, loc, inputs, type.getRank(), 0, builder.getF64FloatAttr(0),
                              [&](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
                                Value wide = ExtFOp::create(b, loc, b.getF64Type(),
                                                            term(b, loc, arguments.drop_back()));
                                return AddFOp::create(b, loc, arguments.back(), wide);
                              });
  Value count = ConstantIndexOp::create(builder, loc, 1);
  for (OpFoldResult size : tensor::getMixedSizes(builder, loc, inputs[0]))
    count = builder.createOrFold<MulIOp>(loc, count,
                                         getValueOrCreateConstantIndexOp(builder, loc, size));
  Value integer = IndexCastOp::create(builder, loc, builder.getI64Type(), count);
  Value positions = SIToFPOp::create(builder, loc, builder.getF64Type(), integer);
  Value empty = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>(), builder.getF32Type());
  AffineMap scalar = AffineMap::get(builder.getContext());
  return linalg::GenericOp::create(
             builder, loc, TypeRange{empty.getType()}, ValueRange{sum}, ValueRange{empty},
             ArrayRef{scalar, scalar}, ArrayRef<utils::IteratorType>(),
             [&](OpBuilder &b, Location loc, ValueRange arguments) {
               Value mean = DivFOp::create(b, loc, arguments[0], positions);
               linalg::YieldOp::create(b, loc,
                                       TruncFOp::create(b, loc, b.getF32Type(), mean).getResult());
             })
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Losses of classes
//===----------------------------------------------------------------------===//

/// The largest entry along the last axis of `output`.
static Value createMaximum(OpBuilder &builder, Location loc, Value output) {
  auto type = cast<RankedTensorType>(output.getType());
  auto lowest = builder.getFloatAttr(
      type.getElementType(), APFloat::getInf(llvm::APFloat::IEEEsingle(), /*Negative=*/true));
  return createReduction(builder, loc, output, type.getRank(), type.getRank() - 1, lowest,
                         [](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
                           return MaximumFOp::create(b, loc, arguments[0], arguments[1]);
                         });
}

/// Whether the class of the current iteration is `target`.
static Value isTargetClass(OpBuilder &b, Location loc, int64_t axis, Value target) {
  Value index = linalg::IndexOp::create(b, loc, axis);
  Value current = IndexCastOp::create(b, loc, target.getType(), index);
  return CmpIOp::create(b, loc, CmpIPredicate::eq, current, target);
}

/// The entry of `output` at the class of the target, for each position.
static Value createPicked(OpBuilder &builder, Location loc, Value output, Value target) {
  auto type = cast<RankedTensorType>(output.getType());
  int64_t axis = type.getRank() - 1;
  return createReduction(builder, loc, {output, target}, type.getRank(), axis,
                         cast<TypedAttr>(builder.getZeroAttr(type.getElementType())),
                         [&](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
                           Value zero = createFloat(b, loc, arguments[0].getType(), 0);
                           Value isTarget = isTargetClass(b, loc, axis, arguments[1]);
                           Value entry = SelectOp::create(b, loc, isTarget, arguments[0], zero);
                           return AddFOp::create(b, loc, arguments[2], entry);
                         });
}

/// `log(sum(exp(x - m))) - (x[t] - m)` with the largest entry m, which does not
/// change the value and so has no derivative.
static Value createCrossEntropy(OpBuilder &builder, Location loc, Value output, Value target) {
  auto type = cast<RankedTensorType>(output.getType());
  Value maximum = createMaximum(builder, loc, output);
  maximum = StopGradientOp::create(builder, loc, maximum);
  Value sum = createReduction(builder, loc, {output, maximum}, type.getRank(), type.getRank() - 1,
                              cast<TypedAttr>(builder.getZeroAttr(type.getElementType())),
                              [](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
                                Value shifted = SubFOp::create(b, loc, arguments[0], arguments[1]);
                                Value exp = math::ExpOp::create(b, loc, shifted);
                                return AddFOp::create(b, loc, arguments[2], exp);
                              });
  Value picked = createPicked(builder, loc, output, target);
  return createMean(builder, loc, {sum, picked, maximum},
                    [](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
                      Value log = math::LogOp::create(b, loc, arguments[0]);
                      Value shifted = SubFOp::create(b, loc, arguments[1], arguments[2]);
                      return SubFOp::create(b, loc, log, shifted);
                    });
}

Value bppsa::createCorrectCount(OpBuilder &builder, Location loc, Value output, Value target) {
  auto type = cast<RankedTensorType>(output.getType());
  int64_t axis = type.getRank() - 1;
  Value picked = createPicked(builder, loc, output, target);
  // The classes that a first-maximum search prefers to the target.
  Value better = createReduction(
      builder, loc, {output, target, picked}, type.getRank(), axis, builder.getI64IntegerAttr(0),
      [&](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
        Value index = linalg::IndexOp::create(b, loc, axis);
        Value current = IndexCastOp::create(b, loc, arguments[1].getType(), index);
        Value isBefore = CmpIOp::create(b, loc, CmpIPredicate::slt, current, arguments[1]);
        Value isEqual = CmpFOp::create(b, loc, CmpFPredicate::OEQ, arguments[0], arguments[2]);
        Value isLarger = CmpFOp::create(b, loc, CmpFPredicate::OGT, arguments[0], arguments[2]);
        Value isFirst = AndIOp::create(b, loc, isBefore, isEqual);
        Value isBetter = OrIOp::create(b, loc, isLarger, isFirst);
        Value one = ExtUIOp::create(b, loc, b.getI64Type(), isBetter);
        return AddIOp::create(b, loc, arguments.back(), one);
      });
  return createReduction(builder, loc, better, axis, 0, builder.getI64IntegerAttr(0),
                         [](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
                           Value zero = ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
                           Value isBest =
                               CmpIOp::create(b, loc, CmpIPredicate::eq, arguments[0], zero);
                           Value one = ExtUIOp::create(b, loc, b.getI64Type(), isBest);
                           return AddIOp::create(b, loc, arguments[1], one);
                         });
}

//===----------------------------------------------------------------------===//
// Losses of one position
//===----------------------------------------------------------------------===//

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

/// `(1 - t) x + m + log(exp(-m) + exp(-x - m))`. The shift `m = max(-x, 0)`
/// keeps the exponentials finite and has no derivative.
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

Value bppsa::createLoss(OpBuilder &builder, Location loc, LossKind kind, Value output,
                        Value target) {
  auto type = cast<RankedTensorType>(output.getType());
  switch (kind) {
  case LossKind::None:
    return type.getRank() == 0
               ? output
               : tensor::CollapseShapeOp::create(builder, loc,
                                                 RankedTensorType::get({}, type.getElementType()),
                                                 output, ArrayRef<ReassociationIndices>())
                     .getResult();
  case LossKind::CrossEntropy:
    return createCrossEntropy(builder, loc, output, target);
  case LossKind::NLL:
    return createMean(builder, loc, createPicked(builder, loc, output, target),
                      [](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
                        return NegFOp::create(b, loc, arguments[0]);
                      });
  default:
    return createMean(builder, loc, {output, target},
                      [&](OpBuilder &b, Location loc, ValueRange arguments) {
                        return buildPositionLoss(b, loc, kind, arguments[0], arguments[1]);
                      });
  }
}
