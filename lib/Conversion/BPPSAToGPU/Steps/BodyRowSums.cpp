//===- BodyRowSums.cpp - sums of gradients in registers -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BodyRowEmitter.h"
#include "bppsa/Cost/DeviceShapes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace bppsa;

Value BodyRowEmitter::getYielded(const UnitSum &sum) const {
  return body->getTerminator()->getOperand(sum.yielded);
}

/// Element i of what this thread multiplies for `sum`. The columns of a sum are distributed over
/// the threads of a row like those of matrices. What threads beyond the last row or column add up
/// is not asked for.
Value BodyRowEmitter::loadOfSum(OpBuilder &builder, Location loc, const UnitSum &sum, int64_t i,
                                ArrayRef<Place> factors) {
  Value &element = loadedOfSums[{sum.factor, i}];
  if (!element)
    element = factors[sum.factor].load(builder, loc,
                                       layout(sum.columns).getElement(builder, loc, part, i).index);
  return element;
}

/// Reads the factors of all sums where they have no more than `capacity` elements.
void BodyRowEmitter::loadOfSums(OpBuilder &builder, Location loc, ArrayRef<Place> factors,
                                int64_t capacity) {
  if (getNumSumRegisters() > capacity)
    return;
  for (const UnitSum &sum : sums)
    if (sum.factor != kNoFactor)
      for (int64_t i = 0, e = layout(sum.columns).getNumSlots(); i < e; ++i)
        loadOfSum(builder, loc, sum, i, factors);
}

SmallVector<Value> BodyRowEmitter::addToSums(OpBuilder &builder, Location loc,
                                             ArrayRef<Place> factors, ValueRange running) {
  SmallVector<Value> next;
  for (const UnitSum &sum : sums) {
    Value row = yieldedRows.at(getYielded(sum));
    if (sum.factor == kNoFactor) {
      next.push_back(arith::AddFOp::create(builder, loc, running[next.size()], row));
      continue;
    }
    for (int64_t i = 0, e = layout(sum.columns).getNumSlots(); i < e; ++i) {
      Value element = loadOfSum(builder, loc, sum, i, factors);
      next.push_back(math::FmaOp::create(builder, loc, row, element, running[next.size()]));
    }
  }
  return next;
}

void BodyRowEmitter::forEachSum(OpBuilder &builder, Location loc, ValueRange running,
                                SumElement body) {
  for (auto [number, sum] : llvm::enumerate(sums)) {
    int64_t count = layout(sum.columns).getNumSlots();
    ValueRange own = running.take_front(count);
    running = running.drop_front(count);
    Value isOwner =
        isBelow(builder, loc, unitIndex, getIndex(builder, loc, getNumRows(getYielded(sum))));
    emitIf(builder, loc, isOwner, [&, number = number, sum = sum](OpBuilder &nested) {
      for (auto [i, value] : llvm::enumerate(own)) {
        BlockCyclicLayout::Element column = layout(sum.columns).getElement(nested, loc, part, i);
        auto give = [&, value = value](OpBuilder &inside) {
          body(inside, number, unitIndex, column.index, value);
        };
        if (column.exists)
          emitIf(nested, loc, column.exists, give);
        else
          give(nested);
      }
    });
  }
}
