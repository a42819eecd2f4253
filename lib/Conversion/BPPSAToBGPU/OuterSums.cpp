//===- OuterSums.cpp - outer products over samples and steps --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A block computes a tile of the outer products of one slab and stages rows of both operands in
// shared memory.
//
//===----------------------------------------------------------------------===//

#include "OuterSums.h"
#include "../../Codegen/GPU/Launch.h"
#include "Slabs.h"
#include "Totals.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

/// Side of a tile, and staged rows. Each thread has one element of all three tiles.
static constexpr int64_t kTile = 16;
static_assert(kTile * kTile == cost::kElementThreads);

namespace {
struct TilePosition {
  Value slabNumber, firstRow, firstColumn;
  Slab slab;
};

class OuterSumKernel {
public:
  OuterSumKernel(OuterSumOp op, const Slabs &slabs, Value parts)
      : op(op), slabs(slabs), parts(parts), loc(op.getLoc()) {
    auto type = cast<MemRefType>(op.getDestination().getType());
    rows = type.getDimSize(0);
    columns = type.getDimSize(1);
  }

  void create(OpBuilder &builder);

private:
  TilePosition locate(OpBuilder &builder, Value block);
  Value sumTile(OpBuilder &builder, const TilePosition &at);
  /// Returns elements `first + j` of rows `firstRow + i`; zero outside the slab and `size`.
  Value read(OpBuilder &builder, Value sequence, const Slab &slab, Value firstRow, Value first,
             int64_t size);
  Value multiply(OpBuilder &builder, Value left, Value right, Value sums);
  void store(OpBuilder &builder, const TilePosition &at, Value sums);

  OuterSumOp op;
  const Slabs &slabs;
  Value parts;
  Location loc;
  int64_t rows, columns;
};
} // namespace

void OuterSumKernel::create(OpBuilder &builder) {
  int64_t numTiles = llvm::divideCeil(rows, kTile) * llvm::divideCeil(columns, kTile);
  Value numBlocks = mulIndex(builder, loc, slabs.getNumSlabs(), getIndex(builder, loc, numTiles));
  bgpu::KernelOp::create(builder, loc, numBlocks, kTile * kTile,
                         [&](OpBuilder &nested, Value block) {
                           TilePosition at = locate(nested, block);
                           store(nested, at, sumTile(nested, at));
                         });
}

TilePosition OuterSumKernel::locate(OpBuilder &builder, Value block) {
  SmallVector<Value> digits =
      splitIndex(builder, loc, block,
                 {Value(), getIndex(builder, loc, llvm::divideCeil(rows, kTile)),
                  getIndex(builder, loc, llvm::divideCeil(columns, kTile))});
  Value tile = getIndex(builder, loc, kTile);
  return {digits[0], mulIndex(builder, loc, digits[1], tile),
          mulIndex(builder, loc, digits[2], tile), slabs.getSlab(builder, digits[0])};
}

Value OuterSumKernel::sumTile(OpBuilder &builder, const TilePosition &at) {
  auto tile = RankedTensorType::get({kTile, kTile}, slabs.getElementType());
  MemRefType shared = bgpu::getSharedType(tile.getShape(), tile.getElementType());
  Value left = memref::AllocOp::create(builder, loc, shared);
  Value right = memref::AllocOp::create(builder, loc, shared);
  Value zeros = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(tile));
  auto loop = scf::ForOp::create(
      builder, loc, at.slab.first, at.slab.last, getIndex(builder, loc, kTile), zeros,
      [&](OpBuilder &nested, Location, Value first, ValueRange sums) {
        Value ofLeft = read(nested, op.getLhs(), at.slab, first, at.firstRow, rows);
        bgpu::PutOp::create(nested, loc, ofLeft, left, /*first=*/0);
        Value ofRight = read(nested, op.getRhs(), at.slab, first, at.firstColumn, columns);
        bgpu::PutOp::create(nested, loc, ofRight, right, /*first=*/0);
        scf::YieldOp::create(nested, loc, multiply(nested, left, right, sums[0]));
      });
  return loop.getResult(0);
}

Value OuterSumKernel::read(OpBuilder &builder, Value sequence, const Slab &slab, Value firstRow,
                           Value first, int64_t size) {
  auto tile = RankedTensorType::get({kTile, kTile}, slabs.getElementType());
  return tensor::GenerateOp::create(
      builder, loc, tile, ValueRange(), [&](OpBuilder &inThread, Location, ValueRange at) {
        Value row = addIndex(inThread, loc, firstRow, at[0]);
        Value column = addIndex(inThread, loc, first, at[1]);
        Value isInside =
            arith::AndIOp::create(inThread, loc, isBelow(inThread, loc, row, slab.last),
                                  isBelow(inThread, loc, column, getIndex(inThread, loc, size)));
        auto loaded = scf::IfOp::create(
            inThread, loc, isInside,
            [&](OpBuilder &nested, Location) {
              scf::YieldOp::create(nested, loc, slabs.load(nested, sequence, row, column));
            },
            [&](OpBuilder &nested, Location) {
              scf::YieldOp::create(nested, loc, slabs.getZero(nested));
            });
        tensor::YieldOp::create(inThread, loc, loaded.getResult(0));
      });
}

Value OuterSumKernel::multiply(OpBuilder &builder, Value left, Value right, Value sums) {
  auto each = bgpu::ForEachOp::create(
      builder, loc, {kTile, kTile}, sums, slabs.getElementType(),
      [&](OpBuilder &inThread, ValueRange at, ValueRange sum) {
        Value next = sum[0];
        for (int64_t i = 0; i < kTile; ++i) {
          Value row = getIndex(inThread, loc, i);
          Value a = memref::LoadOp::create(inThread, loc, left, ValueRange{row, at[0]});
          Value b = memref::LoadOp::create(inThread, loc, right, ValueRange{row, at[1]});
          next = math::FmaOp::create(inThread, loc, a, b, next);
        }
        return SmallVector<Value>{next};
      });
  return each.getResult(0);
}

void OuterSumKernel::store(OpBuilder &builder, const TilePosition &at, Value sums) {
  bgpu::ForEachOp::create(
      builder, loc, {kTile, kTile}, sums,
      [&](OpBuilder &inThread, ValueRange indices, ValueRange sum) {
        Value row = addIndex(inThread, loc, at.firstRow, indices[0]);
        Value column = addIndex(inThread, loc, at.firstColumn, indices[1]);
        Value numColumns = getIndex(inThread, loc, columns);
        Value isInside = arith::AndIOp::create(
            inThread, loc, isBelow(inThread, loc, row, getIndex(inThread, loc, rows)),
            isBelow(inThread, loc, column, numColumns));
        emitIf(inThread, loc, isInside, [&](OpBuilder &nested) {
          Value position = addIndex(nested, loc, mulIndex(nested, loc, row, numColumns), column);
          memref::StoreOp::create(nested, loc, sum[0], parts, ValueRange{at.slabNumber, position});
        });
      });
}

void bppsa::convertOuterSum(OuterSumOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto type = cast<MemRefType>(op.getDestination().getType());
  int64_t elements = type.getNumElements();
  Slabs slabs(builder, loc, op.getLhs(), Slabs::getLength(elements));
  Value parts = allocateParts(builder, loc, slabs.getNumSlabs(), elements, slabs.getElementType());
  OuterSumKernel(op, slabs, parts).create(builder);
  emitTotals(
      builder, loc, parts, slabs.getNumSlabs(), [&](OpBuilder &nested, Value position, Value sum) {
        SmallVector<Value> at =
            splitIndex(nested, loc, position, {Value(), getIndex(nested, loc, type.getDimSize(1))});
        memref::StoreOp::create(nested, loc, sum, op.getDestination(), at);
      });
  memref::DeallocOp::create(builder, loc, parts);
}
