//===- BodyRewrites.cpp - rewrites of graph bodies ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BodyRewrites.h"
#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace bppsa;

/// `inputs` are `[T, B, N]`. The result has the last dimensions of `inputs`.
static Value createSampleSum(OpBuilder &builder, Location loc, RankedTensorType type,
                             ValueRange inputs,
                             function_ref<Value(OpBuilder &, ValueRange)> compute) {
  int64_t rank = type.getRank(), loops = rank + 2;
  AffineExpr step = builder.getAffineDimExpr(rank), sample = builder.getAffineDimExpr(rank + 1);
  SmallVector<AffineMap> maps;
  for (int64_t i = 0; i < rank; ++i)
    maps.push_back(AffineMap::get(loops, 0, {step, sample, builder.getAffineDimExpr(i)},
                                  builder.getContext()));
  maps.push_back(builder.getMultiDimIdentityMap(loops).dropResults({rank, rank + 1}));
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  iterators.append(2, utils::IteratorType::reduction);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type.getElementType()));
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  Value zeros = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  return linalg::GenericOp::create(
             builder, loc, type, inputs, zeros, maps, iterators,
             [&](OpBuilder &nested, Location, ValueRange x) {
               Value term = compute(nested, x.drop_back());
               linalg::YieldOp::create(
                   nested, loc, arith::AddFOp::create(nested, loc, x.back(), term).getResult());
             })
      .getResult(0);
}

static Value createElementwise(OpBuilder &builder, Operation *op) {
  Location loc = op->getLoc();
  auto type = cast<RankedTensorType>(op->getResultTypes().front());
  SmallVector<Value> inputs;
  llvm::copy_if(op->getOperands(), std::back_inserter(inputs),
                [](Value operand) { return isa<RankedTensorType>(operand.getType()); });
  SmallVector<AffineMap> maps(inputs.size() + 1, builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  return linalg::GenericOp::create(builder, loc, type, inputs, empty, maps, iterators,
                                   [&](OpBuilder &nested, Location, ValueRange elements) {
                                     SmallVector<Value> operands(op->getOperands());
                                     for (Value &operand : operands)
                                       if (isa<RankedTensorType>(operand.getType())) {
                                         operand = elements.front();
                                         elements = elements.drop_front();
                                       }
                                     OperationState state(loc, op->getName(), operands,
                                                          type.getElementType(), op->getAttrs());
                                     linalg::YieldOp::create(nested, loc,
                                                             nested.create(state)->getResult(0));
                                   })
      .getResult(0);
}

static bool isElementwise(Operation *op) {
  return op->getNumResults() == 1 && isa<RankedTensorType>(op->getResultTypes().front()) &&
         OpTrait::hasElementwiseMappableTraits(op);
}

LogicalResult bppsa::generalizeBody(Block &body) {
  IRRewriter rewriter(body.getParentOp()->getContext());
  SmallVector<Operation *> ops;
  body.walk<WalkOrder::PreOrder>([&](Operation *op) {
    ops.push_back(op);
    return isa<RecurrenceOp, ChainOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  for (Operation *op : ops) {
    rewriter.setInsertionPoint(op);
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && !tensor.hasStaticShape())
        return refuseOp(op) << "makes " << type
                            << " in the body of a time loop, whose arrays must have static "
                               "sizes; give the model's dimensions fixed sizes";
    auto named = dyn_cast<linalg::LinalgOp>(op);
    if (isElementwise(op))
      rewriter.replaceOp(op, createElementwise(rewriter, op));
    else if (auto sum = dyn_cast<OuterSumOp>(op))
      rewriter.replaceOp(
          sum, createSampleSum(
                   rewriter, op->getLoc(), cast<RankedTensorType>(op->getResultTypes().front()),
                   {sum.getLhs(), sum.getRhs()}, [&](OpBuilder &nested, ValueRange x) -> Value {
                     return arith::MulFOp::create(nested, op->getLoc(), x[0], x[1]);
                   }));
    else if (auto sum = dyn_cast<StepSumOp>(op))
      rewriter.replaceOp(sum, createSampleSum(rewriter, op->getLoc(),
                                              cast<RankedTensorType>(op->getResultTypes().front()),
                                              sum.getSequence(),
                                              [](OpBuilder &, ValueRange x) { return x.front(); }));
    else if (named && !isa<linalg::GenericOp, linalg::FillOp, linalg::CopyOp>(op) &&
             failed(linalg::generalizeNamedOp(rewriter, named)))
      return op->emitOpError("has no form as linalg.generic, which the body of a time loop needs");
  }
  return success();
}

/// Destinations, constants and scalars are recomputed rather than kept.
static bool isCheap(Operation *op) {
  return isa<tensor::EmptyOp, linalg::FillOp>(op) || op->hasTrait<OpTrait::ConstantLike>() ||
         llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

/// Operands must be available or cheap to recompute outside.
static void hoist(Operation *op, LoopLikeOpInterface loop) {
  SmallVector<Operation *> needed;
  for (Value input : getUsedValues(op)) {
    if (loop.isDefinedOutsideOfLoop(input))
      continue;
    Operation *definition = input.getDefiningOp();
    if (!definition || !isCheap(definition))
      return;
    needed.push_back(definition);
  }
  OpBuilder builder(loop);
  for (Operation *cheap : needed) {
    if (!llvm::all_of(cheap->getOperands(), [&](Value value) {
          Operation *definition = value.getDefiningOp();
          return loop.isDefinedOutsideOfLoop(value) ||
                 (definition && isCheap(definition) &&
                  llvm::all_of(definition->getOperands(), [&](Value further) {
                    return loop.isDefinedOutsideOfLoop(further);
                  }));
        }))
      return;
  }
  IRMapping mapping;
  for (Operation *cheap : needed) {
    for (Value value : cheap->getOperands())
      if (!loop.isDefinedOutsideOfLoop(value) && !mapping.contains(value))
        builder.clone(*value.getDefiningOp(), mapping);
    builder.clone(*cheap, mapping);
  }
  Operation *outside = builder.clone(*op, mapping);
  op->replaceAllUsesWith(outside->getResults());
  op->erase();
}

void bppsa::hoistOps(ArrayRef<Operation *> ops, LoopLikeOpInterface loop) {
  for (Operation *op : ops)
    if (!isCheap(op))
      hoist(op, loop);
}
