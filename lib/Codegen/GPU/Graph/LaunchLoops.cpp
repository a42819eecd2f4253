//===- LaunchLoops.cpp - launches of copies and loops ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Launch.h"
#include "GraphToGPU.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace bppsa;

static void launchElements(OpBuilder &builder, Location loc, Value array,
                           function_ref<void(OpBuilder &, ValueRange)> body) {
  SmallVector<Value> sizes;
  Value count = getIndex(builder, loc, 1);
  for (int64_t dim = 0, e = cast<MemRefType>(array.getType()).getRank(); dim < e; ++dim) {
    sizes.push_back(getDim(builder, loc, array, dim));
    count = mulIndex(builder, loc, count, sizes.back());
  }
  emitForEachThread(builder, loc, count, [&](OpBuilder &nested, Value number) {
    body(nested, splitIndex(nested, loc, number, sizes));
  });
}

void bppsa::launchCopy(memref::CopyOp op) {
  OpBuilder builder(op);
  launchElements(builder, op.getLoc(), op.getTarget(), [&](OpBuilder &nested, ValueRange at) {
    Value value = memref::LoadOp::create(nested, op.getLoc(), op.getSource(), at);
    memref::StoreOp::create(nested, op.getLoc(), value, op.getTarget(), at);
  });
}

void bppsa::launchCopies(ArrayRef<memref::CopyOp> copies) {
  memref::CopyOp last = copies.back();
  OpBuilder builder(last);
  Location loc = last.getLoc();
  int64_t total = 0;
  for (memref::CopyOp copy : copies)
    total += cast<MemRefType>(copy.getTarget().getType()).getNumElements();
  emitForEachThread(builder, loc, getIndex(builder, loc, total), [&](OpBuilder &nested, Value at) {
    int64_t first = 0;
    for (memref::CopyOp copy : copies) {
      auto type = cast<MemRefType>(copy.getTarget().getType());
      emitIfWithin(nested, loc, at, first, type.getNumElements(),
                   [&](OpBuilder &inside, Value inArray) {
                     SmallVector<Value> sizes;
                     for (int64_t size : type.getShape())
                       sizes.push_back(getIndex(inside, loc, size));
                     SmallVector<Value> indices = splitIndex(inside, loc, inArray, sizes);
                     Value value = memref::LoadOp::create(inside, loc, copy.getSource(), indices);
                     memref::StoreOp::create(inside, loc, value, copy.getTarget(), indices);
                   });
      first += type.getNumElements();
    }
  });
}

void bppsa::launchParallel(scf::ParallelOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SmallVector<Value> counts;
  Value count = getIndex(builder, loc, 1);
  for (auto [lower, upper, step] :
       llvm::zip(op.getLowerBound(), op.getUpperBound(), op.getStep())) {
    Value length = arith::SubIOp::create(builder, loc, upper, lower);
    counts.push_back(arith::CeilDivUIOp::create(builder, loc, length, step));
    count = mulIndex(builder, loc, count, counts.back());
  }
  emitForEachThread(builder, loc, count, [&](OpBuilder &nested, Value number) {
    IRMapping mapping;
    SmallVector<Value> digits = splitIndex(nested, loc, number, counts);
    for (auto [iv, digit, lower, step] :
         llvm::zip(op.getInductionVars(), digits, op.getLowerBound(), op.getStep()))
      mapping.map(iv, addIndex(nested, loc, lower, mulIndex(nested, loc, digit, step)));
    for (Operation &inner : op.getBody()->without_terminator())
      nested.clone(inner, mapping);
  });
}

void bppsa::launchSequential(scf::ForOp op) {
  OpBuilder builder(op);
  emitForEachThread(builder, op.getLoc(), getIndex(builder, op.getLoc(), 1),
                    [&](OpBuilder &nested, Value) { nested.clone(*op); });
}
