//===- LowerTransitions.cpp - affine transitions of cotangents ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "AffineMaps.h"

using namespace mlir;
using namespace bppsa;

/// The transitions that `array` holds for each batch block.
static AffineMapRows getTransition(Value array, Value block, bool isDiagonal) {
  ArrayRef<int64_t> shape = cast<MemRefType>(array.getType()).getShape();
  bool hasOffset = shape[1] > (isDiagonal ? 1 : shape[2]);
  return {{shape[2], hasOffset, isDiagonal}, array, {block}};
}

LogicalResult bppsa::lowerTransition(TransitionOp op, const LaneOptions &options) {
  CotangentLoop loop = getCotangentLoop(op);
  FailureOr<AffineMapBuilder> run = AffineMapBuilder::create(loop, options);
  if (failed(run))
    return failure();
  Location loc = op.getLoc();
  OpBuilder builder(op);
  emitParallel(builder, loc, getDim(builder, loc, op.getDestination(), 0),
               [&](OpBuilder &nested, Value block) {
                 run->allocateScratch(nested);
                 run->emit(nested, block, getIndex(nested, loc, 0), getNumSteps(nested, loop),
                           getTransition(op.getDestination(), block, op.getDiagonal()));
               });
  return success();
}

void bppsa::lowerComposeTransitions(ComposeTransitionsOp op, const LaneOptions &options) {
  Location loc = op.getLoc();
  OpBuilder builder(op);
  Value destination = op.getDestination();
  auto get = [&](Value array, Value block) {
    return getTransition(array, block, op.getDiagonal());
  };
  emitParallel(
      builder, loc, getDim(builder, loc, destination, 0), [&](OpBuilder &nested, Value block) {
        AffineMapRows product = get(destination, block);
        VectorType rowType = product.getColumn(block).getRowType();
        Rows scratch = allocateRows(nested, loc, getComposeScratchRows(product.size), rowType);
        if (op.getSecond() != destination)
          emitCopy(nested, loc, get(op.getSecond(), block), product);
        emitCompose(nested, loc, get(op.getFirst(), block), product, scratch, options);
      });
}

void bppsa::lowerApplyTransition(ApplyTransitionOp op, const LaneOptions &options) {
  Location loc = op.getLoc();
  OpBuilder builder(op);
  emitParallel(builder, loc, getDim(builder, loc, op.getDestination(), 0),
               [&](OpBuilder &nested, Value block) {
                 emitApply(nested, loc, getTransition(op.getTransition(), block, op.getDiagonal()),
                           {op.getCotangent(), {block}}, {op.getDestination(), {block}}, options);
               });
}
