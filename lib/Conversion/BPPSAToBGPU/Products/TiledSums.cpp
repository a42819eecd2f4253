//===- TiledSums.cpp - tiled outer sums -----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// One kernel computes the outer products of each slab as a matrix product over its rows; another
// adds up the slabs.
//
//===----------------------------------------------------------------------===//

#include "TiledSums.h"
#include "../Slabs.h"
#include "../Totals.h"
#include "TiledProduct.h"
#include "bppsa/Dialect/BGPU/Analysis/TiledProducts.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"

using namespace mlir;
using namespace bppsa;

static ArrayStack stackDestinations(ArrayRef<OuterSumOp> ops) {
  SmallVector<Value> destinations;
  for (OuterSumOp op : ops)
    destinations.push_back(op.getDestination());
  return ArrayStack(destinations, 0);
}

static void multiplySlabs(OpBuilder &builder, ArrayRef<OuterSumOp> ops, const Slabs &slabs,
                          Value parts) {
  OuterSumOp first = ops[0];
  Location loc = first.getLoc();
  ArrayStack destinations = stackDestinations(ops);
  int64_t rows = destinations.getDimSize(0), columns = destinations.getDimSize(1);
  SmallVector<Value> left;
  for (OuterSumOp op : ops)
    left.push_back(op.getLhs());
  TiledProduct product(loc, getMapping(first).getPrecision(), rows, columns, FactorRows::OfDepth,
                       FactorRows::OfDepth);
  int64_t tileRows = product.getTileRows(), tileColumns = product.getTileColumns();
  Value rowsOfTiles = getIndex(builder, loc, llvm::divideCeil(rows, tileRows));
  Value columnsOfTiles = getIndex(builder, loc, llvm::divideCeil(columns, tileColumns));
  Value numTiles = mulIndex(builder, loc, rowsOfTiles, columnsOfTiles);
  auto emitBlock = [&](OpBuilder &nested, Value block) {
    SmallVector<Value> digits =
        splitIndex(nested, loc, block, {Value(), rowsOfTiles, columnsOfTiles});
    Slab slab = slabs.getSlab(nested, digits[0]);
    SmallVector<Value> sums =
        product.begin(nested, mulIndex(nested, loc, digits[1], getIndex(nested, loc, tileRows)),
                      mulIndex(nested, loc, digits[2], getIndex(nested, loc, tileColumns)));
    sums = product.multiply(nested, left, first.getRhs(), slab.first, slab.last, sums);
    auto getStore = [&](OpBuilder &inRow, Value row) -> TiledProduct::StoreInRow {
      Value first = mulIndex(inRow, loc, row, getIndex(inRow, loc, columns));
      return [&, first](OpBuilder &inside, Value column, Value sum) {
        Value position = addIndex(inside, loc, first, column);
        memref::StoreOp::create(inside, loc, sum, parts, ValueRange{digits[0], position});
      };
    };
    product.store(nested, sums, getIndex(nested, loc, rows), columns, getStore);
  };
  bgpu::KernelOp::create(builder, loc, mulIndex(builder, loc, slabs.getNumSlabs(), numTiles),
                         TiledProduct::kThreads, emitBlock);
}

LogicalResult bppsa::convertTiledSums(ArrayRef<OuterSumOp> ops) {
  if (ops.size() > 1 && !canStack(ops)) {
    for (OuterSumOp op : ops)
      if (failed(convertTiledSums(op)))
        return failure();
    return success();
  }
  for (OuterSumOp op : ops)
    if (!(isTiledFactor(op.getLhs()) && isTiledFactor(op.getRhs())))
      return op->emitOpError("cannot be mapped to 'tiled_product', which needs f32 sequences with "
                             "contiguous rows; use thread_per_element");
  OuterSumOp first = ops[0];
  OpBuilder builder(first);
  Location loc = first.getLoc();
  ArrayStack destinations = stackDestinations(ops);
  int64_t columns = destinations.getDimSize(1), elements = destinations.getDimSize(0) * columns;
  Slabs slabs(builder, loc, first.getLhs(), Slabs::getLength(elements));
  Value parts = allocateParts(builder, loc, slabs.getNumSlabs(), elements, slabs.getElementType());
  multiplySlabs(builder, ops, slabs, parts);
  emitTotals(builder, loc, parts, slabs.getNumSlabs(),
             [&](OpBuilder &nested, Value position, Value sum) {
               SmallVector<Value> at =
                   splitIndex(nested, loc, position, {Value(), getIndex(nested, loc, columns)});
               auto [destination, row] = destinations.find(nested, loc, at[0]);
               memref::StoreOp::create(nested, loc, sum, destination, ValueRange{row, at[1]});
             });
  memref::DeallocOp::create(builder, loc, parts);
  return success();
}
