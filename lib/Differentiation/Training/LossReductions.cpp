//===- LossReductions.cpp - reductions over loss positions ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LossReductions.h"
#include "../Rules/ElementwiseVJP.h"
#include "../TensorBuilders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::arith;
using namespace bppsa;

Value bppsa::createReduction(OpBuilder &builder, Location loc, ValueRange inputs, int64_t rank,
                             int64_t firstReduced, TypedAttr init, BodyBuilder body,
                             ValueRange ofLast) {
  SmallVector<AffineMap> maps;
  SmallVector<OpFoldResult> sizes;
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  auto leadingDims = [&](int64_t count) {
    return AffineMap::get(rank, 0, identity.getResults().take_front(count), builder.getContext());
  };
  SmallVector<Value> operands(inputs);
  for (Value input : inputs) {
    int64_t inputRank = cast<RankedTensorType>(input.getType()).getRank();
    maps.push_back(leadingDims(inputRank));
    if (inputRank >= firstReduced && sizes.empty())
      sizes = tensor::getMixedSizes(builder, loc, input);
  }
  for (Value input : ofLast) {
    operands.push_back(input);
    maps.push_back(
        AffineMap::get(rank, 0, identity.getResults().take_back(1), builder.getContext()));
  }
  sizes.truncate(firstReduced);
  maps.push_back(leadingDims(firstReduced));
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::reduction);
  std::fill_n(iterators.begin(), firstReduced, utils::IteratorType::parallel);
  Value filled = createFilled(builder, loc, sizes, init);
  return linalg::GenericOp::create(builder, loc, TypeRange{filled.getType()}, operands,
                                   ValueRange{filled}, maps, iterators,
                                   [&](OpBuilder &nested, Location loc, ValueRange arguments) {
                                     linalg::YieldOp::create(nested, loc,
                                                             body(nested, loc, arguments));
                                   })
      .getResult(0);
}

static Value createSum(OpBuilder &builder, Location loc, ValueRange inputs, BodyBuilder term) {
  auto type = cast<RankedTensorType>(inputs[0].getType());
  return createReduction(builder, loc, inputs, type.getRank(), 0, builder.getF64FloatAttr(0),
                         [&](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
                           Value wide = ExtFOp::create(b, loc, b.getF64Type(),
                                                       term(b, loc, arguments.drop_back()));
                           return AddFOp::create(b, loc, arguments.back(), wide);
                         });
}

static Value countPositions(OpBuilder &builder, Location loc, Value tensor) {
  Value count = ConstantIndexOp::create(builder, loc, 1);
  for (OpFoldResult size : tensor::getMixedSizes(builder, loc, tensor))
    count = builder.createOrFold<MulIOp>(loc, count,
                                         getValueOrCreateConstantIndexOp(builder, loc, size));
  Value integer = IndexCastOp::create(builder, loc, builder.getI64Type(), count);
  return SIToFPOp::create(builder, loc, builder.getF64Type(), integer);
}

/// With `mayBeZero`, a zero divisor, whose sum is also zero, counts as one.
static Value divide(OpBuilder &builder, Location loc, Value sum, Value divisor,
                    bool mayBeZero = false) {
  Value empty = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>(), builder.getF32Type());
  SmallVector<Value> inputs = {sum};
  bool isTensor = isa<TensorType>(divisor.getType());
  if (isTensor)
    inputs.push_back(divisor);
  SmallVector<AffineMap> maps(inputs.size() + 1, AffineMap::get(builder.getContext()));
  return linalg::GenericOp::create(
             builder, loc, TypeRange{empty.getType()}, inputs, ValueRange{empty}, maps,
             ArrayRef<utils::IteratorType>(),
             [&](OpBuilder &b, Location loc, ValueRange arguments) {
               Value number = isTensor ? arguments[1] : divisor;
               if (mayBeZero) {
                 Value zero = createFloat(b, loc, number.getType(), 0);
                 Value isZero = CmpFOp::create(b, loc, CmpFPredicate::OEQ, number, zero);
                 Value one = createFloat(b, loc, number.getType(), 1);
                 number = SelectOp::create(b, loc, isZero, one, number);
               }
               Value mean = DivFOp::create(b, loc, arguments[0], number);
               linalg::YieldOp::create(b, loc,
                                       TruncFOp::create(b, loc, b.getF32Type(), mean).getResult());
             })
      .getResult(0);
}

Value bppsa::createSumOfProducts(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  Value sum = createSum(builder, loc, {lhs, rhs},
                        [](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
                          return MulFOp::create(b, loc, arguments[0], arguments[1]);
                        });
  Value one = createFloat(builder, loc, builder.getF64Type(), 1);
  return divide(builder, loc, sum, one);
}

Value bppsa::createQuotient(OpBuilder &builder, Location loc, ValueRange inputs, Value weight,
                            BodyBuilder term, bool mayLackWeight) {
  Value sum = createSum(builder, loc, inputs, term);
  Value divisor =
      createSum(builder, loc, weight,
                [](OpBuilder &, Location, ValueRange arguments) -> Value { return arguments[0]; });
  return divide(builder, loc, sum, divisor, mayLackWeight);
}

Value bppsa::createMean(OpBuilder &builder, Location loc, ValueRange inputs, Value weight,
                        BodyBuilder term, bool mayLackWeight) {
  if (!weight)
    return divide(builder, loc, createSum(builder, loc, inputs, term),
                  countPositions(builder, loc, inputs[0]));
  SmallVector<Value> weighted(inputs);
  weighted.push_back(weight);
  return createQuotient(
      builder, loc, weighted, weight,
      [&](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
        Value value = term(b, loc, arguments.drop_back());
        return MulFOp::create(b, loc, value, arguments.back());
      },
      mayLackWeight);
}
