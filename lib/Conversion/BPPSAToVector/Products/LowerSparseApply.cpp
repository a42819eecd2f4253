//===- LowerSparseApply.cpp - sparse matrices times cotangents ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SparseLoops.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

/// Partial sums per row make additions independent.
static constexpr int64_t kNumSums = 4;
static Value emitRowSum(OpBuilder &builder, Location loc, const MatrixReader &matrix,
                        Value cotangent, Value first, Value last, const SampleBlock &block) {
  Type elementType = cast<MemRefType>(cotangent.getType()).getElementType();
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(block.getType(elementType)));
  auto addProduct = [&](OpBuilder &nested, Value entry, Value sum) {
    Value column = matrix.getColumn(nested, loc, entry, first);
    return multiplyAdd(nested, loc, matrix.load(nested, loc, entry, block),
                       loadSamples(nested, loc, cotangent, column, block), sum);
  };
  Value step = getIndex(builder, loc, kNumSums);
  Value size = arith::SubIOp::create(builder, loc, last, first);
  Value whole =
      arith::MulIOp::create(builder, loc, arith::DivUIOp::create(builder, loc, size, step), step);
  Value middle = arith::AddIOp::create(builder, loc, first, whole);
  SmallVector<Value> zeros(kNumSums, zero);
  auto parts = scf::ForOp::create(builder, loc, first, middle, step, zeros,
                                  [&](OpBuilder &nested, Location, Value entry, ValueRange sums) {
                                    SmallVector<Value> next;
                                    for (auto [i, sum] : llvm::enumerate(sums))
                                      next.push_back(
                                          addProduct(nested, addIndex(nested, loc, entry, i), sum));
                                    scf::YieldOp::create(nested, loc, next);
                                  });
  auto rest =
      scf::ForOp::create(builder, loc, middle, last, getIndex(builder, loc, 1), parts.getResult(0),
                         [&](OpBuilder &nested, Location, Value entry, ValueRange sums) {
                           scf::YieldOp::create(nested, loc, addProduct(nested, entry, sums[0]));
                         });
  Value sum = rest.getResult(0);
  for (Value part : parts.getResults().drop_front())
    sum = arith::AddFOp::create(builder, loc, sum, part);
  return sum;
}

void bppsa::lowerSparseApply(jacobian::SparseApplyOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value destination = op.getDestination(), cotangent = op.getCotangent();
  MatrixReader matrix = {op.getValues(), op.getStarts(), op.getColumns(), op.getPositions(),
                         cast<MemRefType>(cotangent.getType()).getDimSize(0)};
  Value numSamples = getDim(builder, loc, cotangent, 1);
  int64_t rows = cast<MemRefType>(destination.getType()).getDimSize(0);
  emitRowTasks(builder, loc, rows, /*mostTasks=*/64,
               [&](OpBuilder &inTask, Value begin, Value end) {
                 emitFor(inTask, loc, begin, end, 1, [&](OpBuilder &inRow, Value row) {
                   Value first = matrix.getStart(inRow, loc, row);
                   Value last = matrix.getStart(inRow, loc, addIndex(inRow, loc, row, 1));
                   emitSampleBlocks(
                       inRow, loc, numSamples, [&](OpBuilder &nested, const SampleBlock &block) {
                         Value sum = emitRowSum(nested, loc, matrix, cotangent, first, last, block);
                         storeSamples(nested, loc, sum, destination, row, block);
                       });
                 });
               });
}
