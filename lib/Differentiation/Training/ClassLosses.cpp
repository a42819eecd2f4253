//===- ClassLosses.cpp - losses whose targets are classes -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Rules/ElementwiseVJP.h"
#include "LossReductions.h"
#include "Losses.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::arith;
using namespace bppsa;

static int64_t getRank(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getRank(); }

static TypedAttr getZero(OpBuilder &builder, Value tensor) {
  return cast<TypedAttr>(builder.getZeroAttr(getElementTypeOrSelf(tensor)));
}

static Value createMaximum(OpBuilder &builder, Location loc, Value output) {
  auto lowest =
      builder.getFloatAttr(getElementTypeOrSelf(output),
                           APFloat::getInf(llvm::APFloat::IEEEsingle(), /*Negative=*/true));
  return createReduction(builder, loc, output, getRank(output), getRank(output) - 1, lowest,
                         [](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
                           return MaximumFOp::create(b, loc, arguments[0], arguments[1]);
                         });
}

static Value isTargetClass(OpBuilder &b, Location loc, int64_t axis, Value target) {
  Value index = linalg::IndexOp::create(b, loc, axis);
  Value current = IndexCastOp::create(b, loc, target.getType(), index);
  return CmpIOp::create(b, loc, CmpIPredicate::eq, current, target);
}

static Value createPicked(OpBuilder &builder, Location loc, Value output, Value target) {
  int64_t axis = getRank(output) - 1;
  return createReduction(builder, loc, {output, target}, axis + 1, axis, getZero(builder, output),
                         [&](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
                           Value zero = createFloat(b, loc, arguments[0].getType(), 0);
                           Value isTarget = isTargetClass(b, loc, axis, arguments[1]);
                           Value entry = SelectOp::create(b, loc, isTarget, arguments[0], zero);
                           return AddFOp::create(b, loc, arguments[2], entry);
                         });
}

static Value createClassWeights(OpBuilder &builder, Location loc, Value target, Value weight,
                                Value classes) {
  int64_t axis = getRank(target);
  return createReduction(
      builder, loc, {target, weight}, axis + 1, axis, getZero(builder, weight),
      [&](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
        Value zero = createFloat(b, loc, arguments[1].getType(), 0);
        Value isTarget = isTargetClass(b, loc, axis, arguments[0]);
        Value product = MulFOp::create(b, loc, arguments[1], arguments[2]);
        Value entry = SelectOp::create(b, loc, isTarget, product, zero);
        return AddFOp::create(b, loc, arguments[3], entry);
      },
      classes);
}

static Value createClassConstant(OpBuilder &builder, Location loc, const LossOptions &options,
                                 Value output) {
  int64_t count = cast<RankedTensorType>(output.getType()).getShape().back();
  auto type = RankedTensorType::get(count, builder.getF32Type());
  auto values = options.classWeights.empty()
                    ? DenseElementsAttr::get(type, 1.0f)
                    : DenseElementsAttr::get(type, ArrayRef<float>(options.classWeights));
  return ConstantOp::create(builder, loc, values);
}

static Value createWeightedSum(OpBuilder &builder, Location loc, Value output, Value maximum,
                               Value classes) {
  return createReduction(
      builder, loc, {output, maximum}, getRank(output), getRank(output) - 1,
      getZero(builder, output),
      [](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
        Value shifted = SubFOp::create(b, loc, arguments[0], arguments[1]);
        Value product = MulFOp::create(b, loc, shifted, arguments[2]);
        return AddFOp::create(b, loc, arguments[3], product);
      },
      classes);
}

namespace {
/// The parts of the cross entropy of a position: `log(sum) - (picked - maximum)`. The maximum does
/// not change the value, so it needs no derivative.
struct CrossEntropyParts {
  Value sum, picked, maximum;
};
} // namespace

static CrossEntropyParts createParts(OpBuilder &builder, Location loc, Value output, Value target) {
  Value maximum = createMaximum(builder, loc, output);
  maximum = StopGradientOp::create(builder, loc, maximum);
  Value sum = createReduction(builder, loc, {output, maximum}, getRank(output), getRank(output) - 1,
                              getZero(builder, output),
                              [](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
                                Value shifted = SubFOp::create(b, loc, arguments[0], arguments[1]);
                                Value exp = math::ExpOp::create(b, loc, shifted);
                                return AddFOp::create(b, loc, arguments[2], exp);
                              });
  return {sum, createPicked(builder, loc, output, target), maximum};
}

static Value buildCrossEntropy(OpBuilder &b, Location loc, ValueRange parts) {
  Value log = math::LogOp::create(b, loc, parts[0]);
  Value shifted = SubFOp::create(b, loc, parts[1], parts[2]);
  return SubFOp::create(b, loc, log, shifted);
}

/// Cross entropy with the share s of each target spread over all C classes, the quotient of
///   sum(m' (1 - s) loss(target) + m s / C * sum(w[c] loss(c)))
/// and the sum of m', where m is the position weight and m' its product with the class weight.
static Value createSmoothed(OpBuilder &builder, Location loc, const LossOptions &options,
                            Value output, Value target, Value weight, Value own) {
  CrossEntropyParts parts = createParts(builder, loc, output, target);
  Value classes = createClassConstant(builder, loc, options, output);
  Value all = createWeightedSum(builder, loc, output, parts.maximum, classes);
  int64_t count = cast<RankedTensorType>(output.getType()).getShape().back();
  double total = options.classWeights.empty() ? count : 0;
  for (float value : options.classWeights)
    total += value;
  return createQuotient(
      builder, loc, {parts.sum, parts.picked, parts.maximum, all, weight, own}, own,
      [&](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
        auto scale = [&](Value value, double factor) -> Value {
          return MulFOp::create(b, loc, value, createFloat(b, loc, value.getType(), factor));
        };
        Value log = math::LogOp::create(b, loc, arguments[0]);
        Value spread = SubFOp::create(b, loc, scale(log, total), arguments[3]);
        Value first = scale(buildCrossEntropy(b, loc, arguments), 1 - options.labelSmoothing);
        Value second = scale(spread, options.labelSmoothing / count);
        return AddFOp::create(b, loc, MulFOp::create(b, loc, first, arguments[5]),
                              MulFOp::create(b, loc, second, arguments[4]));
      },
      options.mayLackWeight);
}

Value bppsa::createClassLoss(OpBuilder &builder, Location loc, const LossOptions &options,
                             Value output, Value target, Value weight) {
  Value own = weight;
  if (!options.classWeights.empty())
    own = createClassWeights(builder, loc, target, weight,
                             createClassConstant(builder, loc, options, output));
  if (options.kind == LossKind::NLL)
    return createMean(
        builder, loc, createPicked(builder, loc, output, target), own,
        [](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
          return NegFOp::create(b, loc, arguments[0]);
        },
        options.mayLackWeight);
  if (options.labelSmoothing != 0)
    return createSmoothed(builder, loc, options, output, target, weight, own);
  CrossEntropyParts parts = createParts(builder, loc, output, target);
  return createMean(builder, loc, {parts.sum, parts.picked, parts.maximum}, own, buildCrossEntropy,
                    options.mayLackWeight);
}

Value bppsa::createCorrectCount(OpBuilder &builder, Location loc, Value output, Value target,
                                Value weight) {
  int64_t axis = getRank(output) - 1;
  Value picked = createPicked(builder, loc, output, target);
  // Number of classes that a search for the first maximum prefers to the target.
  Value better = createReduction(
      builder, loc, {output, target, picked}, axis + 1, axis, builder.getI64IntegerAttr(0),
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
  SmallVector<Value> inputs = {better};
  if (weight)
    inputs.push_back(weight);
  return createReduction(builder, loc, inputs, axis, 0, builder.getF64FloatAttr(0),
                         [&](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
                           Type type = b.getF64Type();
                           Value zero = ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
                           Value isBest =
                               CmpIOp::create(b, loc, CmpIPredicate::eq, arguments[0], zero);
                           Value counts =
                               weight ? ExtFOp::create(b, loc, type, arguments[1]).getResult()
                                      : createFloat(b, loc, type, 1);
                           Value none = createFloat(b, loc, type, 0);
                           return AddFOp::create(b, loc, arguments.back(),
                                                 SelectOp::create(b, loc, isBest, counts, none));
                         });
}
