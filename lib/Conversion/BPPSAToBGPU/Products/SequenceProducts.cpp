//===- SequenceProducts.cpp - products of all time steps ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SequenceProducts.h"
#include "TiledProduct.h"
#include "bppsa/Dialect/BGPU/Analysis/TiledProducts.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"

using namespace mlir;
using namespace bppsa;

static void emitTile(OpBuilder &builder, Location loc, const SequenceProduct &product,
                     TiledProduct &tiles, Value row, Value column) {
  int64_t columns = product.getNumColumns();
  auto getBias = [&](OpBuilder &nested, Value at) -> Value {
    Value read = minIndex(nested, loc, at, getIndex(nested, loc, columns - 1));
    auto [bias, position] = ArrayStack(product.biases, 0).find(nested, loc, read);
    return memref::LoadOp::create(nested, loc, bias, position);
  };
  SmallVector<Value> sums = product.biases.empty() ? tiles.begin(builder, row, column)
                                                   : tiles.begin(builder, row, column, getBias);
  for (auto [sequence, matrices] : llvm::zip_equal(product.sequences, product.matrices)) {
    int64_t depth = cast<MemRefType>(sequence.getType()).getShape().back();
    sums = tiles.multiply(builder, sequence, matrices, getIndex(builder, loc, 0),
                          getIndex(builder, loc, depth), sums);
  }
  ArrayStack destinations(product.destinations, 2);
  Value numSamples = destinations.getDim(builder, loc, 1);
  Value numRows = mulIndex(builder, loc, destinations.getDim(builder, loc, 0), numSamples);
  auto getStore = [&](OpBuilder &inRow, Value number) -> TiledProduct::StoreInRow {
    SmallVector<Value> at = splitIndex(inRow, loc, number, {Value(), numSamples});
    return [&, at](OpBuilder &inside, Value inColumn, Value sum) {
      auto [destination, position] = destinations.find(inside, loc, inColumn);
      memref::StoreOp::create(inside, loc, sum, destination, ValueRange{at[0], at[1], position});
    };
  };
  tiles.store(builder, sums, numRows, columns, getStore);
}

static void convert(OpBuilder &builder, Location loc, const SequenceProduct &product,
                    TensorPrecision precision) {
  TiledProduct tiles(loc, precision, ShapedType::kDynamic, product.getNumColumns(),
                     FactorRows::OfSide,
                     product.isTransposed ? FactorRows::OfDepth : FactorRows::OfSide);
  Value destination = product.destinations[0];
  Value numRows = mulIndex(builder, loc, getDim(builder, loc, destination, 0),
                           getDim(builder, loc, destination, 1));
  Value tileRows = getIndex(builder, loc, tiles.getTileRows());
  Value tileColumns = getIndex(builder, loc, tiles.getTileColumns());
  Value columnsOfTiles =
      getIndex(builder, loc, llvm::divideCeil(product.getNumColumns(), tiles.getTileColumns()));
  Value rowsOfTiles = arith::CeilDivUIOp::create(builder, loc, numRows, tileRows);
  bgpu::KernelOp::create(
      builder, loc, mulIndex(builder, loc, rowsOfTiles, columnsOfTiles), TiledProduct::kThreads,
      [&](OpBuilder &nested, Value block) {
        SmallVector<Value> digits = splitIndex(nested, loc, block, {Value(), columnsOfTiles});
        emitTile(nested, loc, product, tiles, mulIndex(nested, loc, digits[0], tileRows),
                 mulIndex(nested, loc, digits[1], tileColumns));
      });
}

LogicalResult bppsa::convertSequenceProducts(RecurrenceOp op) {
  FailureOr<SmallVector<SequenceProduct, 0>> products = getSequenceProducts(op);
  if (failed(products))
    return op->emitOpError("cannot be mapped to 'tiled_product', which supports only products of "
                           "its sequences with captured matrices; use block_per_row");
  OpBuilder builder(op);
  for (const SequenceProduct &product : *products)
    convert(builder, op.getLoc(), product, getMapping(op).getPrecision());
  return success();
}
