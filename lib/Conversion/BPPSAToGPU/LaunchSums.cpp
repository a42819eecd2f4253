//===- LaunchSums.cpp - outer products over samples and steps -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// One launch has the outer products of each slab (Slabs.h), a kernel adds the slabs up.
// Outer products of a slab are a product of matrices, with the rows as its depth.
//
//===----------------------------------------------------------------------===//

#include "../BPPSAToBGPU/Slabs.h"
#include "../BPPSAToBGPU/Totals.h"
#include "BPPSAToGPU.h"
#include "Products/ArrayStack.h"
#include "Products/TiledProduct.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace bppsa;

/// Elements of each side of the tile of a result that a block has, and rows that it has in shared
/// memory at a time.
static constexpr int64_t kTile = 16, kStagedRows = 16;

namespace {
/// The outer products of one slab, in tiles.
class OuterSumTile {
public:
  OuterSumTile(OuterSumOp op, const Slabs &slabs, Value parts)
      : op(op), slabs(slabs), parts(parts), loc(op.getLoc()) {
    auto type = cast<MemRefType>(op.getDestination().getType());
    rows = type.getDimSize(0);
    columns = type.getDimSize(1);
  }

  void launch(OpBuilder &builder) {
    int64_t tileRows = llvm::divideCeil(rows, kTile),
            tileColumns = llvm::divideCeil(columns, kTile);
    Value numTiles = getIndex(builder, loc, tileRows * tileColumns);
    auto staged = MemRefType::get({kStagedRows, kTile},
                                  cast<MemRefType>(op.getLhs().getType()).getElementType());
    emitLaunch(builder, loc, mulIndex(builder, loc, slabs.getNumSlabs(), numTiles),
               cost::elementThreads, {staged, staged},
               [&](OpBuilder &nested, const LaunchedThread &thread) {
                 SmallVector<Value> digits = splitIndex(nested, loc, thread.block,
                                                        {Value(), getIndex(nested, loc, tileRows),
                                                         getIndex(nested, loc, tileColumns)});
                 emitTile(nested, thread, digits);
               });
  }

private:
  /// `digits`: slab, row of tiles, column of tiles.
  void emitTile(OpBuilder &builder, const LaunchedThread &thread, ArrayRef<Value> digits) {
    Value tile = getIndex(builder, loc, kTile);
    SmallVector<Value> at = splitIndex(builder, loc, thread.thread, {Value(), tile});
    Value firstRow = mulIndex(builder, loc, digits[1], tile);
    Value firstColumn = mulIndex(builder, loc, digits[2], tile);
    Slab slab = slabs.getSlab(builder, digits[0]);
    auto loop = scf::ForOp::create(
        builder, loc, slab.first, slab.last, getIndex(builder, loc, kStagedRows),
        slabs.getZero(builder), [&](OpBuilder &nested, Location, Value first, ValueRange sum) {
          // Thread (i, j) stages column j of row i of both operands.
          Value row = addIndex(nested, loc, first, at[0]);
          Value exists = isBelow(nested, loc, row, slab.last);
          stage(nested, op.getLhs(), thread.shared[0], exists, row, firstRow, rows, at);
          stage(nested, op.getRhs(), thread.shared[1], exists, row, firstColumn, columns, at);
          emitBarrier(nested, loc);
          Value next = sum[0];
          for (int64_t i = 0; i < kStagedRows; ++i) {
            Value staged = getIndex(nested, loc, i);
            Value left =
                memref::LoadOp::create(nested, loc, thread.shared[0], ValueRange{staged, at[0]});
            Value right =
                memref::LoadOp::create(nested, loc, thread.shared[1], ValueRange{staged, at[1]});
            next = math::FmaOp::create(nested, loc, left, right, next);
          }
          emitBarrier(nested, loc);
          scf::YieldOp::create(nested, loc, next);
        });
    Value row = addIndex(builder, loc, firstRow, at[0]);
    Value column = addIndex(builder, loc, firstColumn, at[1]);
    Value isInside = arith::AndIOp::create(
        builder, loc, isBelow(builder, loc, row, getIndex(builder, loc, rows)),
        isBelow(builder, loc, column, getIndex(builder, loc, columns)));
    emitIf(builder, loc, isInside, [&](OpBuilder &nested) {
      Value position =
          addIndex(nested, loc, mulIndex(nested, loc, row, getIndex(nested, loc, columns)), column);
      memref::StoreOp::create(nested, loc, loop.getResult(0), parts,
                              ValueRange{digits[0], position});
    });
  }

  /// `staged[i, j] = sequence[row, first + j]`, zero beyond the slab and the columns.
  void stage(OpBuilder &builder, Value sequence, Value staged, Value exists, Value row, Value first,
             int64_t size, ArrayRef<Value> at) {
    Value column = addIndex(builder, loc, first, at[1]);
    Value isInside = arith::AndIOp::create(
        builder, loc, exists, isBelow(builder, loc, column, getIndex(builder, loc, size)));
    auto loaded = scf::IfOp::create(
        builder, loc, isInside,
        [&](OpBuilder &nested, Location) {
          scf::YieldOp::create(nested, loc, slabs.load(nested, sequence, row, column));
        },
        [&](OpBuilder &nested, Location) {
          scf::YieldOp::create(nested, loc, slabs.getZero(nested));
        });
    memref::StoreOp::create(builder, loc, loaded.getResult(0), staged, ValueRange{at[0], at[1]});
  }

  OuterSumOp op;
  const Slabs &slabs;
  Value parts;
  Location loc;
  int64_t rows, columns;
};
} // namespace

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
  auto isTiled = [](OuterSumOp op) { return getMapping(op).is(GPUKernel::TiledProduct); };
  if (ops.size() > 1 && !(llvm::all_of(ops, isTiled) && canStack(ops))) {
    for (OuterSumOp op : ops)
      if (failed(launchOuterSums(op)))
        return failure();
    return success();
  }
  for (OuterSumOp op : ops)
    if (isTiled(op) && !(isTiledFactor(op.getLhs()) && isTiledFactor(op.getRhs())))
      return op->emitOpError("cannot be mapped to 'tiled_product', which needs sequences of f32 "
                             "whose rows lie in one piece; use thread_per_element");
  OuterSumOp first = ops[0];
  OpBuilder builder(first);
  Location loc = first.getLoc();
  ArrayStack destinations = stackDestinations(ops);
  int64_t columns = destinations.getDimSize(1), elements = destinations.getDimSize(0) * columns;
  Slabs slabs(builder, loc, first.getLhs(), Slabs::getLength(elements));
  Value parts = allocateParts(builder, loc, slabs.getNumSlabs(), elements, slabs.getElementType());
  if (isTiled(first))
    launchTiledSums(builder, ops, getMapping(first).getPrecision(), slabs, parts);
  else
    OuterSumTile(first, slabs, parts).launch(builder);
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
