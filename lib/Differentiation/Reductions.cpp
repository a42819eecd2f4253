//===- Reductions.cpp - reductions of linalg ops --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Reductions.h"
#include "Rules/ElementwiseVJP.h"
#include "TensorBuilders.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace bppsa;

FailureOr<Reduction> bppsa::matchReduction(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  Value yielded = body->getTerminator()->getOperand(0);
  if (op.getNumReductionLoops() == 0)
    return Reduction{ReductionKind::None, yielded};
  Value accumulator = body->getArguments().back();
  Operation *join = yielded.getDefiningOp();
  std::optional<ReductionKind> kind;
  if (isa_and_nonnull<arith::AddFOp>(join))
    kind = ReductionKind::Sum;
  else if (isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp>(join))
    kind = ReductionKind::Extremum;
  else if (isa_and_nonnull<arith::MulFOp>(join))
    kind = ReductionKind::Product;
  if (kind && accumulator.hasOneUse() && llvm::is_contained(join->getOperands(), accumulator))
    return Reduction{*kind, join->getOperand(join->getOperand(0) == accumulator ? 1 : 0)};
  return refuseOp(op,
                  "can be differentiated only if its reduction is one arith.addf, arith.maximumf, "
                  "arith.minimumf or arith.mulf of a value that an iteration computes");
}

void bppsa::finishBody(Block &body, Value value, Combine combine, OpBuilder &builder,
                       SmallVectorImpl<Value> &inputs, SmallVectorImpl<AffineMap> &maps) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&body);
  Location loc = value.getLoc();
  Value accumulator = body.getArguments().back();
  if (combine == Combine::Add)
    value = arith::AddFOp::create(builder, loc, accumulator, value);
  if (combine == Combine::Multiply)
    value = arith::MulFOp::create(builder, loc, accumulator, value);
  linalg::YieldOp::create(builder, loc, value);
  eraseDeadOps(body);
  for (unsigned i = inputs.size(); i-- > 0;) {
    SmallVector<AffineMap> others = llvm::to_vector(maps);
    others.erase(others.begin() + i);
    if (!body.getArgument(i).use_empty() ||
        !inversePermutation(concatAffineMaps(others, builder.getContext())))
      continue;
    body.eraseArgument(i);
    inputs.erase(inputs.begin() + i);
    maps = others;
  }
}

/// Reduces the value of `term` for each contribution and the elements of `extras`, from `start` on.
static Value reduceContributions(linalg::LinalgOp op, Value contribution, ValueRange extras,
                                 double start, Combine combine, OpBuilder &builder,
                                 function_ref<Value(Value contribution, ValueRange extras)> term) {
  Location loc = op.getLoc();
  Value result = op->getResult(0);
  AffineMap resultMap = op.getIndexingMapMatchingResult(cast<OpResult>(result));
  Type elementType = contribution.getType();
  SmallVector<Value> inputs = llvm::to_vector(extras);
  SmallVector<AffineMap> maps(extras.size(), resultMap);
  auto body = std::make_unique<Block>();
  for (size_t i = 0; i < extras.size(); ++i)
    body->addArgument(elementType, loc);
  IRMapping mapping;
  for (OpOperand &operand : op->getOpOperands()) {
    inputs.push_back(operand.get());
    maps.push_back(op.getMatchingIndexingMap(&operand));
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    mapping.map(argument, body->addArgument(argument.getType(), loc));
  }
  body->addArgument(elementType, loc);
  maps.push_back(resultMap);
  Value value;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(body.get());
    for (Operation &nested : op.getBlock()->without_terminator())
      builder.clone(nested, mapping);
    value = term(mapping.lookupOrDefault(contribution),
                 ValueRange(body->getArguments()).take_front(extras.size()));
  }
  finishBody(*body, value, combine, builder, inputs, maps);
  Value scalar = createFloat(builder, loc, elementType, start);
  Value init = linalg::FillOp::create(builder, loc, scalar, createEmptyLike(builder, loc, result))
                   .getResult(0);
  auto generic = linalg::GenericOp::create(builder, loc, result.getType(), inputs, init, maps,
                                           op.getIteratorTypesArray());
  generic.getRegion().push_back(body.release());
  return generic.getResult(0);
}

static Value divideEntries(OpBuilder &builder, Location loc, Value numerator, Value denominator) {
  auto type = cast<RankedTensorType>(numerator.getType());
  AffineMap all = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, type, ValueRange{numerator, denominator},
      createEmptyLike(builder, loc, numerator), ArrayRef<AffineMap>{all, all, all}, iterators,
      [](OpBuilder &nested, Location location, ValueRange in) {
        Value quotient = arith::DivFOp::create(nested, location, in[0], in[1]);
        linalg::YieldOp::create(nested, location, quotient);
      });
  return generic.getResult(0);
}

static Value isEqual(OpBuilder &builder, Location loc, Value a, Value b) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, b);
}

SmallVector<Value> Reduction::createSeeds(linalg::LinalgOp op, Value resultCotangent,
                                          OpBuilder &builder) const {
  Location loc = op.getLoc();
  if (isLinear())
    return {resultCotangent};
  Type type = contribution.getType();
  auto number = [&](double value) { return createFloat(builder, loc, type, value); };
  if (kind == ReductionKind::Extremum) {
    Value result = op->getResult(0);
    Value ties = reduceContributions(
        op, contribution, result, 0, Combine::Add, builder, [&](Value own, ValueRange extras) {
          return arith::SelectOp::create(builder, loc, isEqual(builder, loc, own, extras[0]),
                                         number(1), number(0))
              .getResult();
        });
    return {divideEntries(builder, loc, resultCotangent, ties), result};
  }
  auto selectZeros = [&](Value own, Value isZero, Value isNot) -> Value {
    return arith::SelectOp::create(builder, loc, isEqual(builder, loc, own, number(0)), isZero,
                                   isNot);
  };
  Value zeros = reduceContributions(
      op, contribution, {}, 0, Combine::Add, builder,
      [&](Value own, ValueRange) { return selectZeros(own, number(1), number(0)); });
  Value others =
      reduceContributions(op, contribution, {}, 1, Combine::Multiply, builder,
                          [&](Value own, ValueRange) { return selectZeros(own, number(1), own); });
  return {resultCotangent, zeros, others};
}

Value Reduction::createCotangent(OpBuilder &builder, Location loc, Value own,
                                 ValueRange seeds) const {
  if (isLinear())
    return seeds[0];
  auto number = [&](double value) { return createFloat(builder, loc, own.getType(), value); };
  auto select = [&](Value condition, Value a, Value b) -> Value {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  };
  if (kind == ReductionKind::Extremum)
    return select(isEqual(builder, loc, own, seeds[1]), seeds[0], number(0));
  // `rest` is the product of the other factors; it is zero if another factor is zero.
  Value isZero = isEqual(builder, loc, own, number(0));
  Value hasNoZero = isEqual(builder, loc, seeds[1], number(0));
  Value isOnlyZero = isEqual(builder, loc, seeds[1], number(1));
  Value quotient = arith::DivFOp::create(builder, loc, seeds[2], select(isZero, number(1), own));
  Value rest = select(isZero, select(isOnlyZero, seeds[2], number(0)),
                      select(hasNoZero, quotient, number(0)));
  Value product = arith::MulFOp::create(builder, loc, seeds[0], rest);
  return zeroUnlessFinite(builder, loc, rest, product);
}
