//===- ThreadShuffles.cpp - warp reductions -------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Codegen/GPU/Launch.h"
#include "ThreadEmitter.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace bppsa;

/// A butterfly gives all threads of the row the result.
void ThreadEmitter::emitReduceAcross(OpBuilder &builder, bgpu::ReduceAcrossOp op) {
  Location loc = op.getLoc();
  Value value = values.lookup(op.getTile());
  int64_t rowSize = cast<RankedTensorType>(op.getTile().getType()).getShape().back();
  for (int64_t offset = rowSize / 2; offset > 0; offset /= 2)
    value = vector::makeArithReduction(builder, loc, op.getKind(), value,
                                       emitButterfly(builder, loc, value, offset));
  values.map(op.getResult(), value);
}

/// Exchanges halves of the list until each thread holds one element.
void ThreadEmitter::emitReduceScatter(OpBuilder &builder, bgpu::ReduceScatterOp op) {
  Location loc = op.getLoc();
  SmallVector<Value> numbers = getNumbers(builder, loc, op.getTile());
  int64_t rowSize = cast<RankedTensorType>(op.getTile().getType()).getShape().back();
  auto combine = [&](Value own, Value sent, int64_t offset) {
    return vector::makeArithReduction(builder, loc, op.getKind(), own,
                                      emitButterfly(builder, loc, sent, offset));
  };
  for (int64_t offset = rowSize / 2; offset > 0; offset /= 2) {
    if (numbers.size() == 1) {
      numbers[0] = combine(numbers[0], numbers[0], offset);
      continue;
    }
    Value bit = arith::AndIOp::create(builder, loc, thread, getIndex(builder, loc, offset));
    Value isLower = isEqual(builder, loc, bit, getIndex(builder, loc, 0));
    size_t half = numbers.size() / 2;
    for (size_t i = 0; i < half; ++i) {
      Value low = numbers[i], high = numbers[i + half];
      Value sent = arith::SelectOp::create(builder, loc, isLower, high, low);
      Value kept = arith::SelectOp::create(builder, loc, isLower, low, high);
      numbers[i] = combine(kept, sent, offset);
    }
    numbers.resize(half);
  }
  values.map(op.getResult(), numbers[0]);
}
