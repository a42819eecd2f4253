//===- TimeOrder.cpp - order of time steps --------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "TimeOrder.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

TimeOrder::TimeOrder(Operation *loop, bool isBackward) : isBackward(isBackward) {
  if (auto either = loop->getParentOfType<ReverseIfOp>())
    reverseCondition = either.getCondition();
}

Value TimeOrder::select(OpBuilder &builder, Location loc, Value forward, Value backward) const {
  if (isBackward)
    std::swap(forward, backward);
  return reverseCondition
             ? arith::SelectOp::create(builder, loc, reverseCondition, backward, forward)
             : forward;
}

void TimeOrder::emitFor(OpBuilder &builder, Location loc, Value first, Value last,
                        function_ref<void(OpBuilder &, Value)> body) const {
  if (!reverseCondition)
    return bppsa::emitFor(builder, loc, first, last, 1, [&](OpBuilder &nested, Value step) {
      if (!isBackward)
        return body(nested, step);
      Value fromFirst = arith::SubIOp::create(nested, loc, step, first);
      body(nested, addIndex(nested, loc, arith::SubIOp::create(nested, loc, last, fromFirst), -1));
    });
  // The step is position + first, or -1 - position + last. With xor, LLVM sees no linear index;
  // otherwise it increments an address per array, up to a fifth slower for few units.
  Value zero = getIndex(builder, loc, 0);
  Value mask = select(builder, loc, zero, getIndex(builder, loc, -1));
  Value base = select(builder, loc, first, last);
  Value count = arith::SubIOp::create(builder, loc, last, first);
  bppsa::emitFor(builder, loc, zero, count, 1, [&](OpBuilder &nested, Value position) {
    Value turned = arith::XOrIOp::create(nested, loc, position, mask);
    body(nested, arith::AddIOp::create(nested, loc, turned, base));
  });
}

void TimeOrder::emitForSlabs(OpBuilder &builder, Location loc, Value block, Value numSteps,
                             function_ref<void(OpBuilder &, const LaneSlab &)> body) const {
  Value size = getIndex(builder, loc, kSlabSteps);
  Value count = arith::CeilDivUIOp::create(builder, loc, numSteps, size);
  emitFor(builder, loc, getIndex(builder, loc, 0), count, [&](OpBuilder &nested, Value number) {
    Value first = arith::MulIOp::create(nested, loc, number, size);
    Value last = addIndex(nested, loc, first, kSlabSteps);
    body(nested, {block, first, arith::MinUIOp::create(nested, loc, last, numSteps)});
  });
}

Value TimeOrder::getFirst(OpBuilder &builder, Location loc, Value count) const {
  return select(builder, loc, getIndex(builder, loc, 0), addIndex(builder, loc, count, -1));
}

Value TimeOrder::shift(OpBuilder &builder, Location loc, Value step, int64_t forward,
                       int64_t backward) const {
  if (!reverseCondition)
    return addIndex(builder, loc, step, isBackward ? backward : forward);
  Value distance =
      select(builder, loc, getIndex(builder, loc, forward), getIndex(builder, loc, backward));
  return arith::AddIOp::create(builder, loc, step, distance);
}

Value TimeOrder::getLaterStep(OpBuilder &builder, Location loc, Value step, int64_t ahead,
                              Value count) const {
  Value later = shift(builder, loc, step, ahead, -ahead);
  if (reverseCondition || !isBackward)
    later = arith::MinSIOp::create(builder, loc, later, addIndex(builder, loc, count, -1));
  if (reverseCondition || isBackward)
    later = arith::MaxSIOp::create(builder, loc, later, getIndex(builder, loc, 0));
  return later;
}
