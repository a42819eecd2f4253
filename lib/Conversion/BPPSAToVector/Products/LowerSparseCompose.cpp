//===- LowerSparseCompose.cpp - products of sparse matrices ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Gustavson's algorithm: rows are summed in a dense array, of which only possible nonzeros are
// cleared and read.
//
//===----------------------------------------------------------------------===//

#include "SparseLoops.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

namespace {
struct ProductRows {
  MatrixReader first, second, result;
  /// Sums of a row, `[16 * columns]`, with contiguous samples.
  Value sums;

  void emitRow(OpBuilder &builder, Location loc, Value row, const SampleBlock &block) const;

private:
  Value loadSum(OpBuilder &builder, Location loc, Value column, int64_t width) const;
  void storeSum(OpBuilder &builder, Location loc, Value sum, Value column, int64_t width) const;
  static void forEachEntry(OpBuilder &builder, Location loc, const MatrixReader &matrix, Value row,
                           function_ref<void(OpBuilder &, Value, Value)> body);
};
} // namespace

void ProductRows::forEachEntry(OpBuilder &builder, Location loc, const MatrixReader &matrix,
                               Value row, function_ref<void(OpBuilder &, Value, Value)> body) {
  Value first = matrix.getStart(builder, loc, row);
  Value last = matrix.getStart(builder, loc, addIndex(builder, loc, row, 1));
  emitFor(builder, loc, first, last, 1, [&](OpBuilder &nested, Value entry) {
    body(nested, entry, matrix.getColumn(nested, loc, entry, first));
  });
}

Value ProductRows::loadSum(OpBuilder &builder, Location loc, Value column, int64_t width) const {
  Type elementType = cast<MemRefType>(sums.getType()).getElementType();
  Value at = arith::MulIOp::create(builder, loc, column, getIndex(builder, loc, width));
  if (width == 1)
    return memref::LoadOp::create(builder, loc, sums, at);
  return vector::LoadOp::create(builder, loc, VectorType::get(width, elementType), sums, at);
}

void ProductRows::storeSum(OpBuilder &builder, Location loc, Value sum, Value column,
                           int64_t width) const {
  Value at = arith::MulIOp::create(builder, loc, column, getIndex(builder, loc, width));
  if (width == 1)
    memref::StoreOp::create(builder, loc, sum, sums, at);
  else
    vector::StoreOp::create(builder, loc, sum, sums, at);
}

void ProductRows::emitRow(OpBuilder &builder, Location loc, Value row,
                          const SampleBlock &block) const {
  Type elementType = cast<MemRefType>(sums.getType()).getElementType();
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(block.getType(elementType)));
  forEachEntry(builder, loc, result, row, [&](OpBuilder &nested, Value, Value column) {
    storeSum(nested, loc, zero, column, block.width);
  });
  forEachEntry(builder, loc, second, row, [&](OpBuilder &outer, Value entry, Value inner) {
    Value factor = second.load(outer, loc, entry, block);
    forEachEntry(outer, loc, first, inner, [&](OpBuilder &nested, Value other, Value column) {
      Value sum = multiplyAdd(nested, loc, factor, first.load(nested, loc, other, block),
                              loadSum(nested, loc, column, block.width));
      storeSum(nested, loc, sum, column, block.width);
    });
  });
  forEachEntry(builder, loc, result, row, [&](OpBuilder &nested, Value entry, Value column) {
    Value sum = loadSum(nested, loc, column, block.width);
    storeSamples(nested, loc, sum, result.values, entry, block);
  });
}

void bppsa::lowerSparseCompose(jacobian::SparseComposeOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  int64_t cols = op.getCols();
  ProductRows product;
  product.first = {op.getFirst(), op.getFirstStarts(), op.getFirstColumns(), op.getFirstPositions(),
                   cols};
  product.second = {op.getSecond(), op.getSecondStarts(), op.getSecondColumns(),
                    op.getSecondPositions(), int64_t(op.getInner())};
  product.result = {op.getDestination(), op.getResultStarts(), op.getResultColumns(), Value(),
                    cols};
  Value numSamples = getNumSamples(builder, loc, {op.getFirst(), op.getSecond()});
  auto sumsType = MemRefType::get({16 * cols},
                                  cast<MemRefType>(op.getDestination().getType()).getElementType());
  // Each task allocates sums, so there are few tasks.
  emitRowTasks(
      builder, loc, op.getRows(), /*mostTasks=*/16, [&](OpBuilder &inTask, Value begin, Value end) {
        ProductRows own = product;
        own.sums = memref::AllocOp::create(inTask, loc, sumsType, inTask.getI64IntegerAttr(64));
        emitFor(inTask, loc, begin, end, 1, [&](OpBuilder &inRow, Value row) {
          emitSampleBlocks(inRow, loc, numSamples,
                           [&](OpBuilder &nested, const SampleBlock &block) {
                             own.emitRow(nested, loc, row, block);
                           });
        });
        memref::DeallocOp::create(inTask, loc, own.sums);
      });
}
