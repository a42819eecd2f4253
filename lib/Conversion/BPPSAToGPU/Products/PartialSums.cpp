//===- PartialSums.cpp - sums that blocks have made of parts --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "PartialSums.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace bppsa;

/// A block has the totals of so many elements, and so many threads for each, every
/// one of which adds up a slice of the parts.
static constexpr int64_t kElements = kWarpThreads, kSlices = 16;

PartialSums PartialSums::allocate(OpBuilder &builder, Location loc, Value numParts, int64_t size,
                                  Type element) {
  PartialSums sums(loc, numParts, size);
  sums.memref =
      memref::AllocOp::create(builder, loc, MemRefType::get({ShapedType::kDynamic, size}, element),
                              numParts, builder.getI64IntegerAttr(64));
  return sums;
}

void PartialSums::deallocate(OpBuilder &builder) const {
  memref::DeallocOp::create(builder, loc, memref);
}

PartialSums PartialSums::get(OpBuilder &builder, Location loc, Value parts) {
  int64_t size = cast<MemRefType>(parts.getType()).getDimSize(2);
  Value numParts =
      mulIndex(builder, loc, getDim(builder, loc, parts, 0), getDim(builder, loc, parts, 1));
  PartialSums sums(loc, numParts, size);
  SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
  sums.memref = memref::CollapseShapeOp::create(builder, loc, parts, groups);
  return sums;
}

Value PartialSums::load(OpBuilder &builder, Value part, Value position) const {
  return memref::LoadOp::create(builder, loc, memref, ValueRange{part, position});
}

void PartialSums::store(OpBuilder &builder, Value part, Value position, Value sum) const {
  memref::StoreOp::create(builder, loc, sum, memref, ValueRange{part, position});
}

void PartialSums::launchTotals(OpBuilder &builder,
                               function_ref<void(OpBuilder &, Value, Value)> write) const {
  Value numBlocks = getIndex(builder, loc, llvm::divideCeil(size, kElements));
  auto shared =
      MemRefType::get({kSlices, kElements}, cast<MemRefType>(memref.getType()).getElementType());
  auto body = [&](OpBuilder &nested, const LaunchedThread &thread) {
    SmallVector<Value> at =
        splitIndex(nested, loc, thread.thread, {Value(), getIndex(nested, loc, kElements)});
    Value first = mulIndex(nested, loc, thread.block, getIndex(nested, loc, kElements));
    Value position = addIndex(nested, loc, first, at[1]);
    Value exists = isBelow(nested, loc, position, getIndex(nested, loc, size));
    // Threads beyond the last element add it up again, and do not write it.
    Value read = minIndex(nested, loc, position, getIndex(nested, loc, size - 1));
    memref::StoreOp::create(nested, loc, sumSlice(nested, at[0], read), thread.shared[0], at);
    foldSlices(nested, thread.shared[0], at[0], at[1]);
    Value isWriter = arith::AndIOp::create(nested, loc, exists,
                                           isEqual(nested, loc, at[0], getIndex(nested, loc, 0)));
    emitIf(nested, loc, isWriter, [&](OpBuilder &inside) {
      write(inside, position, memref::LoadOp::create(inside, loc, thread.shared[0], at));
    });
  };
  emitLaunch(builder, loc, numBlocks, kElements * kSlices, shared, body);
}

void PartialSums::launchTotals(OpBuilder &builder, ValueRange sums) const {
  launchTotals(builder, [&](OpBuilder &nested, Value position, Value total) {
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

/// Adds up parts slice, slice + kSlices, ...
Value PartialSums::sumSlice(OpBuilder &builder, Value slice, Value position) const {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  auto loop = scf::ForOp::create(
      builder, loc, slice, numParts, getIndex(builder, loc, kSlices), zero,
      [&](OpBuilder &nested, Location, Value part, ValueRange sum) {
        Value next = arith::AddFOp::create(nested, loc, sum[0], load(nested, part, position));
        scf::YieldOp::create(nested, loc, next);
      });
  return loop.getResult(0);
}

/// Adds the sums of all slices up in the first one.
void PartialSums::foldSlices(OpBuilder &builder, Value sums, Value slice, Value element) const {
  for (int64_t half = kSlices / 2; half > 0; half /= 2) {
    emitBarrier(builder, loc);
    emitIf(builder, loc, isBelow(builder, loc, slice, getIndex(builder, loc, half)),
           [&](OpBuilder &nested) {
             Value other = addIndex(nested, loc, slice, getIndex(nested, loc, half));
             Value own = memref::LoadOp::create(nested, loc, sums, ValueRange{slice, element});
             Value next = memref::LoadOp::create(nested, loc, sums, ValueRange{other, element});
             memref::StoreOp::create(nested, loc, arith::AddFOp::create(nested, loc, own, next),
                                     sums, ValueRange{slice, element});
           });
  }
}
