//===- RunRing.cpp - reads the vectors of several runs ahead --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RunRing.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

using namespace mlir;
using namespace bppsa;

RunRing::RunRing(Location loc, ArrayRef<Value> sources, int64_t stages, int64_t numColumns,
                 int64_t columnsOfWarp, int64_t multiple)
    : loc(loc), sources(sources), slots(loc, stages), columnsOfWarp(columnsOfWarp),
      multiple(multiple), mostRuns(numColumns % columnsOfWarp == 0
                                       ? 1
                                       : llvm::divideCeil(columnsOfWarp - 1, numColumns) + 1) {}

int64_t RunRing::getNumRows(size_t source) const {
  return cast<MemRefType>(sources[source].getType()).getDimSize(2);
}

int64_t RunRing::getStride(size_t source) const {
  return llvm::alignTo(getNumRows(source), std::max(multiple, kLoadedTogether));
}

int64_t RunRing::getWidth(size_t source) const {
  return getAlignedElements(cast<MemRefType>(sources[source].getType()));
}

SmallVector<MemRefType> RunRing::getSharedTypes() const {
  SmallVector<MemRefType> types;
  for (size_t i = 0; i < sources.size(); ++i) {
    Type element = cast<MemRefType>(sources[i].getType()).getElementType();
    int64_t width = getWidth(i), count = mostRuns * getStride(i) / width;
    types.push_back(MemRefType::get({slots.getCount(), roundUpToWarps(count) * width}, element));
  }
  return types;
}

/// The elements of a source from its first one on, and its strides.
std::pair<Value, SmallVector<Value>> RunRing::flatten(OpBuilder &builder, size_t source) const {
  auto parts = memref::ExtractStridedMetadataOp::create(builder, loc, sources[source]);
  // Copies go as far as the array does, whose steps may have gaps between them.
  Value count = mulIndex(builder, loc, parts.getSizes()[0], parts.getStrides()[0]);
  Value elements =
      viewElements(builder, loc, parts.getBaseBuffer(), OpFoldResult(parts.getOffset()), count);
  return {elements, parts.getStrides()};
}

SmallVector<Value> RunRing::begin(OpBuilder &builder, const LaunchedThread &thread,
                                  ValueRange shared, const ColumnRuns &columnRuns) {
  rings.assign(shared.begin(), shared.end());
  runs = &columnRuns;
  Value firstColumn = mulIndex(builder, loc, thread.block, getIndex(builder, loc, columnsOfWarp));
  firstRun =
      arith::DivUIOp::create(builder, loc, firstColumn, getIndex(builder, loc, runs->numColumns));
  Value lastRun = addIndex(builder, loc, runs->numRuns, -1);
  Value steps =
      arith::SubIOp::create(builder, loc, runs->stepAt(builder, getIndex(builder, loc, 1)),
                            runs->stepAt(builder, getIndex(builder, loc, 0)));
  copies.clear();
  strides.clear();
  elements.clear();
  SmallVector<Value> places;
  // By (type, elements of the ring before): equal sources without gaps are read at equal places.
  DenseMap<std::pair<Type, int64_t>, size_t> known;
  for (size_t i = 0; i < sources.size(); ++i) {
    auto type = cast<MemRefType>(sources[i].getType());
    auto [array, stridesOfArray] = flatten(builder, i);
    elements.push_back(array);
    int64_t width = getWidth(i), numRows = getNumRows(i);
    for (int64_t at = 0; at < mostRuns * getStride(i); at += kWarpThreads * width) {
      Value to = addIndex(builder, loc,
                          mulIndex(builder, loc, thread.thread, getIndex(builder, loc, width)), at);
      auto [entry, isNew] = known.try_emplace({type, at}, places.size());
      bool isKnown = !isNew && type.getLayout().isIdentity();
      copies.push_back({i, isKnown ? entry->second : places.size(), to});
      if (isKnown)
        continue;
      SmallVector<Value> digits =
          splitIndex(builder, loc, to, {Value(), getIndex(builder, loc, getStride(i))});
      Value run = minIndex(builder, loc, addIndex(builder, loc, firstRun, digits[0]), lastRun);
      auto [sample, first] = runs->at(builder, run);
      Value step = runs->stepAt(builder, first);
      Value vector = addIndex(builder, loc, mulIndex(builder, loc, step, stridesOfArray[0]),
                              mulIndex(builder, loc, sample, stridesOfArray[1]));
      Value row = minIndex(builder, loc, digits[1], getIndex(builder, loc, numRows - width));
      places.push_back(addIndex(builder, loc, vector, row));
      strides.push_back(mulIndex(builder, loc, steps, stridesOfArray[0]));
    }
  }
  for (int64_t link = 0; link < slots.getAhead(); ++link)
    places = copy(builder, getIndex(builder, loc, link), places);
  slots.waitForNext(builder);
  return places;
}

Value RunRing::getRunOfWarp(OpBuilder &builder, Value run) const {
  return arith::SubIOp::create(builder, loc, run, firstRun);
}

SmallVector<Value> RunRing::advance(OpBuilder &builder, Value link, ValueRange places) {
  SmallVector<Value> next = copy(builder, addIndex(builder, loc, link, slots.getAhead()), places);
  slots.waitForNext(builder);
  return next;
}

/// Asks for `link`, and returns the places of the one behind it: that of the last one for all
/// beyond, in slots of links which have been read.
SmallVector<Value> RunRing::copy(OpBuilder &builder, Value link, ValueRange places) {
  Value slot = slots.getSlot(builder, link);
  auto type = nvgpu::DeviceAsyncTokenType::get(builder.getContext());
  for (const Copy &part : copies)
    nvgpu::DeviceAsyncCopyOp::create(
        builder, loc, type, rings[part.source], ValueRange{slot, part.to}, elements[part.source],
        places[part.place], builder.getIndexAttr(getWidth(part.source)),
        /*srcElements=*/Value(), /*bypassL1=*/UnitAttr());
  slots.endGroup(builder);
  Value moves = isBelow(builder, loc, addIndex(builder, loc, link, 1), runs->length);
  return moveIndices(builder, loc, moves, places, strides);
}

Value RunRing::load(OpBuilder &builder, size_t source, Value link, Value run, Value row) const {
  Value first = mulIndex(builder, loc, run, getIndex(builder, loc, getStride(source)));
  return memref::LoadOp::create(
      builder, loc, rings[source],
      ValueRange{slots.getSlot(builder, link), addIndex(builder, loc, first, row)});
}
