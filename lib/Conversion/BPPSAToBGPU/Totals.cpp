//===- Totals.cpp - sums of partial results -------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Totals.h"
#include "../../Codegen/GPU/Launch.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace bppsa;

/// Columns of a block, and threads per column, each with a slice of the rows.
static constexpr int64_t kElements = kWarpThreads, kSlices = 16;

Value bppsa::allocateParts(OpBuilder &builder, Location loc, Value numParts, int64_t size,
                           Type element) {
  return memref::AllocOp::create(builder, loc,
                                 MemRefType::get({ShapedType::kDynamic, size}, element), numParts,
                                 builder.getI64IntegerAttr(64));
}

/// Sums rows slice, slice + kSlices, ...
static Value sumSlice(OpBuilder &builder, Location loc, const ColumnSums &sums, const Slab &rows,
                      Value slice, Value column) {
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(sums.element));
  auto loop = scf::ForOp::create(builder, loc, addIndex(builder, loc, rows.first, slice), rows.last,
                                 getIndex(builder, loc, kSlices), zero,
                                 [&](OpBuilder &nested, Location, Value row, ValueRange sum) {
                                   Value term = sums.load(nested, row, column);
                                   Value next = arith::AddFOp::create(nested, loc, sum[0], term);
                                   scf::YieldOp::create(nested, loc, next);
                                 });
  return loop.getResult(0);
}

void bppsa::emitColumnSums(OpBuilder &builder, Location loc, const ColumnSums &sums) {
  int64_t size = sums.numColumns, numTiles = llvm::divideCeil(size, kElements);
  Value numBlocks = getIndex(builder, loc, numTiles);
  if (sums.numGroups)
    numBlocks = mulIndex(builder, loc, sums.numGroups, numBlocks);
  auto emitBlock = [&](OpBuilder &nested, Value block) {
    SmallVector<Value> at = {getIndex(nested, loc, 0), block};
    if (sums.numGroups)
      at = splitIndex(nested, loc, block, {Value(), getIndex(nested, loc, numTiles)});
    Value group = at[0], first = mulIndex(nested, loc, at[1], getIndex(nested, loc, kElements));
    Slab rows = sums.getRows(nested, group);
    auto tile = RankedTensorType::get({kSlices, kElements}, sums.element);
    auto slices = tensor::GenerateOp::create(
        nested, loc, tile, ValueRange(), [&](OpBuilder &inThread, Location, ValueRange at) {
          // Surplus threads repeat the last column.
          Value column = addIndex(inThread, loc, first, at[1]);
          Value read = minIndex(inThread, loc, column, getIndex(inThread, loc, size - 1));
          Value sum = sumSlice(inThread, loc, sums, rows, at[0], read);
          tensor::YieldOp::create(inThread, loc, sum);
        });
    Value totals = bgpu::ReduceOp::create(nested, loc, tile.clone({1, kElements}),
                                          vector::CombiningKind::ADD, slices);
    bgpu::ForEachOp::create(
        nested, loc, {1, kElements}, totals,
        [&](OpBuilder &inThread, ValueRange at, ValueRange total) {
          Value column = addIndex(inThread, loc, first, at[1]);
          Value count = getIndex(inThread, loc, size);
          emitIf(inThread, loc, isBelow(inThread, loc, column, count),
                 [&](OpBuilder &inside) { sums.write(inside, group, column, total[0]); });
        });
  };
  bgpu::KernelOp::create(builder, loc, numBlocks, kElements * kSlices, emitBlock);
}

void bppsa::emitTotals(OpBuilder &builder, Location loc, Value parts, Value numParts,
                       function_ref<void(OpBuilder &, Value, Value)> write) {
  auto type = cast<MemRefType>(parts.getType());
  auto getRows = [&](OpBuilder &nested, Value) -> Slab {
    return {getIndex(nested, loc, 0), numParts};
  };
  auto load = [&](OpBuilder &nested, Value part, Value position) -> Value {
    return memref::LoadOp::create(nested, loc, parts, ValueRange{part, position});
  };
  auto writeTotal = [&](OpBuilder &nested, Value, Value position, Value total) {
    write(nested, position, total);
  };
  emitColumnSums(builder, loc,
                 {/*numGroups=*/Value(), type.getDimSize(1), type.getElementType(), getRows, load,
                  writeTotal});
}

void bppsa::emitTotals(OpBuilder &builder, Location loc, Value parts, Value numParts,
                       ValueRange sums) {
  emitTotals(builder, loc, parts, numParts, [&](OpBuilder &nested, Value position, Value total) {
    int64_t first = 0;
    for (Value sum : sums) {
      auto type = cast<MemRefType>(sum.getType());
      emitIfWithin(nested, loc, position, first, type.getNumElements(),
                   [&](OpBuilder &inside, Value inSum) {
                     SmallVector<Value> at = splitIndex(
                         inside, loc, inSum, {Value(), getIndex(inside, loc, type.getDimSize(0))});
                     std::swap(at[0], at[1]);
                     at.resize(type.getRank());
                     memref::StoreOp::create(inside, loc, total, sum, at);
                   });
      first += type.getNumElements();
    }
  });
}
