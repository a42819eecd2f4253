//===- StepRing.cpp - reads the vectors of steps ahead of time ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepRing.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

using namespace mlir;
using namespace bppsa;

StepRing::StepRing(Location loc, ValueRange sources, int64_t stages)
    : loc(loc), sources(sources), slots(loc, stages) {}

SmallVector<MemRefType> StepRing::getSharedTypes() const {
  SmallVector<MemRefType> types;
  if (!isUsed())
    return types;
  for (Value source : sources) {
    auto type = cast<MemRefType>(source.getType());
    types.push_back(
        MemRefType::get({slots.getCount(), getStagedRows(type)}, type.getElementType()));
  }
  return types;
}

void StepRing::begin(OpBuilder &builder, const LaunchedThread &ownThread, ValueRange shared,
                     Value ownSample, Value first, Value end, StepAt locate) {
  thread = ownThread;
  rings.assign(shared.begin(), shared.end());
  sample = ownSample;
  last = end;
  stepAt = std::move(locate);
  if (!isUsed())
    return;
  numSamples = getDim(builder, loc, sources[0], 1);
  elements.clear();
  for (Value source : sources) {
    bool hasGaps = !cast<MemRefType>(source.getType()).getLayout().isIdentity();
    elements.push_back(hasGaps ? Value() : flatten(builder, loc, source, builder.getIndexAttr(0)));
  }
  // All but the farthest, which leaves the token to wait for.
  Value count = getIndex(builder, loc, slots.getAhead() - 1);
  emitLoop(builder, loc, getIndex(builder, loc, 0), count, [&](OpBuilder &nested, Value ahead) {
    copy(nested, addIndex(nested, loc, first, ahead));
  });
  copy(builder, addIndex(builder, loc, first, count));
  wait(builder);
  emitBarrier(builder, loc);
}

void StepRing::request(OpBuilder &builder, Value position) {
  if (isUsed())
    copy(builder, addIndex(builder, loc, position, getIndex(builder, loc, slots.getAhead())));
}

void StepRing::copy(OpBuilder &builder, Value position) {
  // The slot of a position beyond the last one is that of a position which has been read.
  Value slot = slots.getSlot(builder, position);
  Value step = stepAt(builder, minIndex(builder, loc, position, addIndex(builder, loc, last, -1)));
  Value vector = addIndex(builder, loc, mulIndex(builder, loc, step, numSamples), sample);
  for (auto [source, flat, ring] : llvm::zip_equal(sources, elements, rings)) {
    auto type = cast<MemRefType>(source.getType());
    int64_t width = getCopyWidth(type, thread.numThreads), rows = type.getDimSize(2);
    Place from =
        flat ? Place{flat, {}, 0, mulIndex(builder, loc, vector, getIndex(builder, loc, rows))}
             : Place{source, {step, sample}};
    emitRows(builder, loc, thread, roundUpToWarps(rows / width),
             [&, to = ring](OpBuilder &nested, Value part) {
               Value last = getIndex(nested, loc, rows / width - 1);
               Value scale = getIndex(nested, loc, width);
               Value read = mulIndex(nested, loc, minIndex(nested, loc, part, last), scale);
               nvgpu::DeviceAsyncCopyOp::create(
                   nested, loc, nvgpu::DeviceAsyncTokenType::get(nested.getContext()), to,
                   ValueRange{slot, mulIndex(nested, loc, part, scale)}, from.memref,
                   from.getIndices(nested, loc, read), nested.getIndexAttr(width),
                   /*srcElements=*/Value(), width == 1 ? UnitAttr() : nested.getUnitAttr());
             });
  }
  slots.endGroup(builder);
}

void StepRing::wait(OpBuilder &builder) {
  if (isUsed())
    slots.waitForNext(builder);
}

SmallVector<Place> StepRing::getPlaces(OpBuilder &builder, Value position) {
  SmallVector<Place> places;
  Value at = isUsed() ? slots.getSlot(builder, position) : stepAt(builder, position);
  for (auto [index, source] : llvm::enumerate(sources))
    places.push_back(isUsed() ? Place{rings[index], {at}} : Place{source, {at, sample}});
  return places;
}
