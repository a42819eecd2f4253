//===- StepRing.cpp - reads the vectors of steps ahead of time ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepRing.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

using namespace mlir;
using namespace bppsa;

/// Positions of a ring: with seven steps of 0.1 us a read may take 0.7 us.
static constexpr int64_t kMostSlots = 8;

/// Bytes of shared memory that a ring may take. A block has 48 KiB; a multiprocessor
/// that runs 32 blocks of a warp has 7 KiB for each.
static constexpr int64_t kMostBytes = 16 * 1024;

StepRing::StepRing(Location loc, ValueRange sources, bool ahead) : loc(loc), sources(sources) {
  int64_t bytes = 0;
  for (Value source : sources) {
    auto type = cast<MemRefType>(source.getType());
    // An asynchronous copy moves four bytes at least, and here one element.
    if (type.getElementTypeBitWidth() != 32)
      return;
    bytes += type.getDimSize(2) * 4;
  }
  if (bytes == 0 || !ahead)
    return;
  numSlots = kMostSlots;
  while (numSlots > 1 && numSlots * bytes > kMostBytes)
    numSlots /= 2;
  if (numSlots == 1)
    numSlots = 0;
}

SmallVector<MemRefType> StepRing::getSharedTypes() const {
  SmallVector<MemRefType> types;
  if (!isUsed())
    return types;
  for (Value source : sources) {
    auto type = cast<MemRefType>(source.getType());
    types.push_back(MemRefType::get({numSlots, type.getDimSize(2)}, type.getElementType()));
  }
  return types;
}

void StepRing::begin(OpBuilder &builder, const LaunchedThread &walker, ValueRange shared,
                     Value walked, Value first, Value end, StepAt locate) {
  thread = walker;
  rings.assign(shared.begin(), shared.end());
  sample = walked;
  last = end;
  stepAt = std::move(locate);
  if (!isUsed())
    return;
  // All but the farthest, which leaves the token to wait for.
  Value count = getIndex(builder, loc, numSlots - 2);
  emitLoop(builder, loc, getIndex(builder, loc, 0), count, [&](OpBuilder &nested, Value ahead) {
    copy(nested, addIndex(nested, loc, first, ahead));
  });
  copy(builder, addIndex(builder, loc, first, count));
  wait(builder);
  emitBarrier(builder, loc);
}

void StepRing::request(OpBuilder &builder, Value position) {
  if (isUsed())
    copy(builder, addIndex(builder, loc, position, getIndex(builder, loc, numSlots - 1)));
}

void StepRing::copy(OpBuilder &builder, Value position) {
  emitIf(builder, loc, isBelow(builder, loc, position, last), [&](OpBuilder &nested) {
    Value step = stepAt(nested, position), slot = getSlot(nested, position);
    for (auto [source, ring] : llvm::zip_equal(sources, rings)) {
      Value from = source, to = ring;
      int64_t rows = cast<MemRefType>(from.getType()).getDimSize(2);
      emitRows(nested, loc, thread, rows, [&](OpBuilder &inside, Value row) {
        nvgpu::DeviceAsyncCopyOp::create(
            inside, loc, nvgpu::DeviceAsyncTokenType::get(inside.getContext()), to,
            ValueRange{slot, row}, from, ValueRange{step, sample, row}, inside.getIndexAttr(1),
            /*srcElements=*/Value(), /*bypassL1=*/UnitAttr());
      });
    }
  });
  // A group for each position, though it be empty: groups are counted.
  token = nvgpu::DeviceAsyncCreateGroupOp::create(
      builder, loc, nvgpu::DeviceAsyncTokenType::get(builder.getContext()), ValueRange());
}

void StepRing::wait(OpBuilder &builder) {
  if (isUsed())
    nvgpu::DeviceAsyncWaitOp::create(builder, loc, token, builder.getI32IntegerAttr(numSlots - 2));
}

SmallVector<Place> StepRing::getPlaces(OpBuilder &builder, Value position) {
  SmallVector<Place> places;
  Value at = isUsed() ? getSlot(builder, position) : stepAt(builder, position);
  for (auto [index, source] : llvm::enumerate(sources))
    places.push_back(isUsed() ? Place{rings[index], {at}} : Place{source, {at, sample}});
  return places;
}

Value StepRing::getSlot(OpBuilder &builder, Value position) const {
  return arith::AndIOp::create(builder, loc, position, getIndex(builder, loc, numSlots - 1));
}
