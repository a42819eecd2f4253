//===- Totals.cpp - sums of parts that blocks have made -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Totals.h"
#include "../GPULaunches/Launch.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace bppsa;

/// A block has the totals of so many elements, and so many threads for each, every
/// one of which adds up a slice of the parts.
static constexpr int64_t kElements = kWarpThreads, kSlices = 16;

Value bppsa::allocateParts(OpBuilder &builder, Location loc, Value numParts, int64_t size,
                           Type element) {
  return memref::AllocOp::create(builder, loc,
                                 MemRefType::get({ShapedType::kDynamic, size}, element), numParts,
                                 builder.getI64IntegerAttr(64));
}

/// Adds up parts slice, slice + kSlices, ...
static Value sumSlice(OpBuilder &builder, Location loc, Value parts, Value numParts, Value slice,
                      Value position) {
  Type element = cast<MemRefType>(parts.getType()).getElementType();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  auto loop = scf::ForOp::create(
      builder, loc, slice, numParts, getIndex(builder, loc, kSlices), zero,
      [&](OpBuilder &nested, Location, Value part, ValueRange sum) {
        Value term = memref::LoadOp::create(nested, loc, parts, ValueRange{part, position});
        Value next = arith::AddFOp::create(nested, loc, sum[0], term);
        scf::YieldOp::create(nested, loc, next);
      });
  return loop.getResult(0);
}

void bppsa::emitTotals(OpBuilder &builder, Location loc, Value parts, Value numParts,
                       function_ref<void(OpBuilder &, Value, Value)> write) {
  auto type = cast<MemRefType>(parts.getType());
  int64_t size = type.getDimSize(1);
  auto emitBlock = [&](OpBuilder &nested, Value block) {
    Value first = mulIndex(nested, loc, block, getIndex(nested, loc, kElements));
    auto tile = RankedTensorType::get({kSlices, kElements}, type.getElementType());
    auto slices = tensor::GenerateOp::create(
        nested, loc, tile, ValueRange(), [&](OpBuilder &inThread, Location, ValueRange at) {
          // Threads beyond the last element add it up again, and do not write it.
          Value position = addIndex(inThread, loc, first, at[1]);
          Value read = minIndex(inThread, loc, position, getIndex(inThread, loc, size - 1));
          Value sum = sumSlice(inThread, loc, parts, numParts, at[0], read);
          tensor::YieldOp::create(inThread, loc, sum);
        });
    Value totals = bgpu::ReduceOp::create(nested, loc, tile.clone({1, kElements}),
                                          vector::CombiningKind::ADD, slices);
    bgpu::ForEachOp::create(nested, loc, {1, kElements}, totals,
                            [&](OpBuilder &inThread, ValueRange at, ValueRange total) {
                              Value position = addIndex(inThread, loc, first, at[1]);
                              Value count = getIndex(inThread, loc, size);
                              emitIf(inThread, loc, isBelow(inThread, loc, position, count),
                                     [&](OpBuilder &inside) { write(inside, position, total[0]); });
                            });
  };
  Value numBlocks = getIndex(builder, loc, llvm::divideCeil(size, kElements));
  bgpu::KernelOp::create(builder, loc, numBlocks, kElements * kSlices, emitBlock);
}

void bppsa::emitTotals(OpBuilder &builder, Location loc, Value parts, Value numParts,
                       ValueRange sums) {
  emitTotals(builder, loc, parts, numParts, [&](OpBuilder &nested, Value position, Value total) {
    int64_t first = 0;
    for (Value sum : sums) {
      auto type = cast<MemRefType>(sum.getType());
      // Elements before this sum wrap around to large numbers.
      Value inSum = arith::SubIOp::create(nested, loc, position, getIndex(nested, loc, first));
      Value isInside = isBelow(nested, loc, inSum, getIndex(nested, loc, type.getNumElements()));
      emitIf(nested, loc, isInside, [&](OpBuilder &inside) {
        SmallVector<Value> at =
            splitIndex(inside, loc, inSum, {Value(), getIndex(inside, loc, type.getDimSize(0))});
        std::swap(at[0], at[1]);
        at.resize(type.getRank());
        memref::StoreOp::create(inside, loc, total, sum, at);
      });
      first += type.getNumElements();
    }
  });
}
