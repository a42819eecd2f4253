//===- LaunchSums.cpp - outer products over samples and steps, in tiles ---===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// One launch has the outer products of each slab (Slabs.h) on tensor cores, a kernel adds
// the slabs up. They are a product of matrices, with the rows as its depth.
//
//===----------------------------------------------------------------------===//

#include "../BPPSAToBGPU/Slabs.h"
#include "../BPPSAToBGPU/Totals.h"
#include "BPPSAToGPU.h"
#include "Products/ArrayStack.h"
#include "Products/TiledProduct.h"

using namespace mlir;
using namespace bppsa;

/// The results of sums with the same right factor, one above the other.
static ArrayStack stackDestinations(ArrayRef<OuterSumOp> ops) {
  SmallVector<Value> destinations;
  for (OuterSumOp op : ops)
    destinations.push_back(op.getDestination());
  return ArrayStack(destinations, 0);
}

bool bppsa::areLargeSums(ArrayRef<OuterSumOp> ops) {
  ArrayStack destinations = stackDestinations(ops);
  return cost::multipliesInTiles(destinations.getDimSize(0), destinations.getDimSize(1)) &&
         llvm::all_of(ops, [](OuterSumOp op) {
           return isTiledFactor(op.getLhs()) && isTiledFactor(op.getRhs());
         });
}

bool bppsa::canStack(ArrayRef<OuterSumOp> ops) {
  return llvm::all_of(ops, [](OuterSumOp op) { return isStackedVector(op.getLhs()); });
}

/// The outer products of each slab on tensor cores.
static void launchTiledSums(OpBuilder &builder, ArrayRef<OuterSumOp> ops, TensorPrecision precision,
                            const Slabs &slabs, Value parts) {
  OuterSumOp first = ops[0];
  Location loc = first.getLoc();
  ArrayStack destinations = stackDestinations(ops);
  int64_t rows = destinations.getDimSize(0), columns = destinations.getDimSize(1);
  SmallVector<Value> left;
  for (OuterSumOp op : ops)
    left.push_back(op.getLhs());
  TiledProduct product(loc, precision, rows, columns, FactorRows::OfDepth, FactorRows::OfDepth);
  int64_t tileRows = product.getTileRows(), tileColumns = product.getTileColumns();
  Value rowsOfTiles = getIndex(builder, loc, llvm::divideCeil(rows, tileRows));
  Value columnsOfTiles = getIndex(builder, loc, llvm::divideCeil(columns, tileColumns));
  Value numTiles = mulIndex(builder, loc, rowsOfTiles, columnsOfTiles);
  emitLaunch(
      builder, loc, mulIndex(builder, loc, slabs.getNumSlabs(), numTiles), TiledProduct::kThreads,
      product.getSharedTypes(builder), [&](OpBuilder &nested, const LaunchedThread &thread) {
        SmallVector<Value> digits =
            splitIndex(nested, loc, thread.block, {Value(), rowsOfTiles, columnsOfTiles});
        Slab slab = slabs.getSlab(nested, digits[0]);
        SmallVector<Value> values = product.begin(
            nested, thread, mulIndex(nested, loc, digits[1], getIndex(nested, loc, tileRows)),
            mulIndex(nested, loc, digits[2], getIndex(nested, loc, tileColumns)));
        values = product.multiply(nested, left, first.getRhs(), slab.first, slab.last, values);
        auto getStore = [&](OpBuilder &inRow, Value row) -> TiledProduct::StoreInRow {
          Value first = mulIndex(inRow, loc, row, getIndex(inRow, loc, columns));
          return [&, first](OpBuilder &inside, Value column, Value sum) {
            Value position = addIndex(inside, loc, first, column);
            memref::StoreOp::create(inside, loc, sum, parts, ValueRange{digits[0], position});
          };
        };
        product.store(nested, values, getIndex(nested, loc, rows), columns, getStore);
      });
}

LogicalResult bppsa::launchOuterSums(ArrayRef<OuterSumOp> ops) {
  if (ops.size() > 1 && !canStack(ops)) {
    for (OuterSumOp op : ops)
      if (failed(launchOuterSums(op)))
        return failure();
    return success();
  }
  for (OuterSumOp op : ops)
    if (!(isTiledFactor(op.getLhs()) && isTiledFactor(op.getRhs())))
      return op->emitOpError("cannot be mapped to 'tiled_product', which needs sequences of f32 "
                             "whose rows lie in one piece; use thread_per_element");
  OuterSumOp first = ops[0];
  OpBuilder builder(first);
  Location loc = first.getLoc();
  ArrayStack destinations = stackDestinations(ops);
  int64_t columns = destinations.getDimSize(1), elements = destinations.getDimSize(0) * columns;
  Slabs slabs(builder, loc, first.getLhs(), Slabs::getLength(elements));
  Value parts = allocateParts(builder, loc, slabs.getNumSlabs(), elements, slabs.getElementType());
  launchTiledSums(builder, ops, getMapping(first).getPrecision(), slabs, parts);
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
