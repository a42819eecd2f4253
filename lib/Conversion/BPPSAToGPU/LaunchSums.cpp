//===- LaunchSums.cpp - sums over samples and steps ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The T * B rows of sequences are cut into slabs. One launch sums each slab, a
// second one adds the slabs up in an order that depends on nothing but T and B.
// Outer products of a slab are a product of matrices, with the rows as its depth.
//
//===----------------------------------------------------------------------===//

#include "BPPSAToGPU.h"
#include "Products/PartialSums.h"
#include "Products/TiledProduct.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace bppsa;

/// Rows of a slab, elements of each side of the tile of a result that a block has,
/// and rows that it has in shared memory at a time.
static constexpr int64_t kSlabRows = 1024, kTile = 16, kStagedRows = 16;

/// Large results have enough tiles for all blocks of a GPU. Their slabs are longer, as each has a
/// result in memory: kSlabRows for each so many elements, and so many times kSlabRows at most.
static constexpr int64_t kElementsOfSlab = 1 << 17, kLongestSlab = 8;

static int64_t getSlabRows(int64_t elements) {
  int64_t slabs = llvm::divideCeil(elements, kElementsOfSlab);
  return kSlabRows * std::min(slabs, kLongestSlab);
}

namespace {
/// Rows [first, last) of a sequence `[T, B, N]`, row t * B + b.
struct Slab {
  Value first, last;
};

/// The slabs of sequences `[T, B, N]`.
class Slabs {
public:
  Slabs(OpBuilder &builder, Location loc, Value sequence, int64_t slabRows = kSlabRows)
      : loc(loc), element(cast<MemRefType>(sequence.getType()).getElementType()),
        slabRows(slabRows) {
    numSamples = getDim(builder, loc, sequence, 1);
    numRows = mulIndex(builder, loc, getDim(builder, loc, sequence, 0), numSamples);
    numSlabs = arith::CeilDivUIOp::create(builder, loc, numRows, getIndex(builder, loc, slabRows));
  }

  Value getNumSlabs() const { return numSlabs; }

  Slab getSlab(OpBuilder &b, Value number) const {
    Value first = mulIndex(b, loc, number, getIndex(b, loc, slabRows));
    return {first, minIndex(b, loc, addIndex(b, loc, first, slabRows), numRows)};
  }

  Value load(OpBuilder &b, Value sequence, Value row, Value column) const {
    SmallVector<Value> digits = splitIndex(b, loc, row, {Value(), numSamples});
    return memref::LoadOp::create(b, loc, sequence, ValueRange{digits[0], digits[1], column});
  }

  PartialSums allocateSums(OpBuilder &b, int64_t size) const {
    return PartialSums::allocate(b, loc, numSlabs, size, element);
  }

  Value getZero(OpBuilder &b) const {
    return arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
  }

private:
  Location loc;
  Type element;
  int64_t slabRows;
  Value numSamples, numRows, numSlabs;
};

/// The outer products of one slab, in tiles.
class OuterSumTile {
public:
  OuterSumTile(OuterSumOp op, const Slabs &slabs, const PartialSums &sums)
      : op(op), slabs(slabs), sums(sums), loc(op.getLoc()) {
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
      sums.store(nested, digits[0], position, loop.getResult(0));
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
  const PartialSums &sums;
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
                            const Slabs &slabs, const PartialSums &sums) {
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
            sums.store(inside, digits[0], addIndex(inside, loc, first, column), sum);
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
  Slabs slabs(builder, loc, first.getLhs(), getSlabRows(elements));
  PartialSums sums = slabs.allocateSums(builder, elements);
  if (isTiled(first))
    launchTiledSums(builder, ops, getMapping(first).getPrecision(), slabs, sums);
  else
    OuterSumTile(first, slabs, sums).launch(builder);
  sums.launchTotals(builder, [&](OpBuilder &nested, Value position, Value sum) {
    SmallVector<Value> at =
        splitIndex(nested, loc, position, {Value(), getIndex(nested, loc, columns)});
    auto [destination, row] = destinations.find(nested, loc, at[0]);
    memref::StoreOp::create(nested, loc, sum, destination, ValueRange{row, at[1]});
  });
  sums.deallocate(builder);
  return success();
}

void bppsa::launchStepSum(StepSumOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  int64_t size = cast<MemRefType>(op.getDestination().getType()).getDimSize(0);
  Slabs slabs(builder, loc, op.getSequence());
  PartialSums sums = slabs.allocateSums(builder, size);
  Value columns = getIndex(builder, loc, size);
  emitForEachThread(builder, loc, mulIndex(builder, loc, slabs.getNumSlabs(), columns),
                    [&](OpBuilder &nested, Value number) {
                      SmallVector<Value> at = splitIndex(nested, loc, number, {Value(), columns});
                      Slab slab = slabs.getSlab(nested, at[0]);
                      Value sum =
                          emitFold(nested, loc, slab.first, slab.last, slabs.getZero(nested),
                                   [&](OpBuilder &inner, Value row, ValueRange running) {
                                     Value value = slabs.load(inner, op.getSequence(), row, at[1]);
                                     return SmallVector<Value>{
                                         arith::AddFOp::create(inner, loc, running[0], value)};
                                   })
                              .front();
                      sums.store(nested, at[0], at[1], sum);
                    });
  sums.launchTotals(builder, [&](OpBuilder &nested, Value position, Value sum) {
    memref::StoreOp::create(nested, loc, sum, op.getDestination(), position);
  });
  sums.deallocate(builder);
}

void bppsa::launchReduceSums(ReduceSumsOp op) {
  OpBuilder builder(op);
  PartialSums::get(builder, op.getLoc(), op.getParts()).launchTotals(builder, op.getDestinations());
}
