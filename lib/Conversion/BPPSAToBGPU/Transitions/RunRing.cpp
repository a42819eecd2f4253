//===- RunRing.cpp - read-ahead of several runs ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RunRing.h"
#include "../../../Codegen/GPU/Launch.h"
#include "../ThreadNumbers.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace bppsa;

RunRing::RunRing(Location loc, ArrayRef<Value> sources, int64_t stages, int64_t numColumns,
                 int64_t columnsOfWarp, int64_t multiple)
    : loc(loc), sources(sources), stages(stages), columnsOfWarp(columnsOfWarp), multiple(multiple),
      maxRuns(numColumns % columnsOfWarp == 0
                  ? 1
                  : llvm::divideCeil(columnsOfWarp - 1, numColumns) + 1) {
  planCopies();
}

int64_t RunRing::getNumRows(size_t source) const {
  return cast<MemRefType>(sources[source].getType()).getDimSize(2);
}

int64_t RunRing::getStride(size_t source) const {
  return llvm::alignTo(getNumRows(source), std::max(multiple, kElementsPerAccess));
}

int64_t RunRing::getWidth(size_t source) const {
  return getAlignedElements(cast<MemRefType>(sources[source].getType()));
}

void RunRing::planCopies() {
  // Contiguous sources of one type share addresses for equal ring offsets.
  DenseMap<std::pair<Type, int64_t>, size_t> known;
  for (size_t i = 0; i < sources.size(); ++i) {
    auto type = cast<MemRefType>(sources[i].getType());
    for (int64_t first = 0; first < maxRuns * getStride(i); first += kWarpThreads * getWidth(i)) {
      auto [entry, isNew] = known.try_emplace({type, first}, places.size());
      bool isKnown = !isNew && type.getLayout().isIdentity();
      copies.push_back({i, isKnown ? entry->second : places.size(), first});
      if (!isKnown)
        places.push_back(copies.back());
    }
  }
}

void RunRing::allocate(OpBuilder &builder) {
  rings.clear();
  for (size_t i = 0; i < sources.size(); ++i) {
    int64_t width = getWidth(i), count = maxRuns * getStride(i) / width;
    MemRefType type = bgpu::getSharedType({stages, roundUpToWarps(count) * width},
                                          getElementTypeOrSelf(sources[i]));
    rings.push_back(memref::AllocOp::create(builder, loc, type));
  }
}

void RunRing::view(OpBuilder &builder, const KernelArrays &arrays) {
  elements.clear();
  for (Value source : sources) {
    auto parts = memref::ExtractStridedMetadataOp::create(builder, loc, arrays.lookup(source));
    // Arrays may have gaps between steps; copies may reach the end.
    Value count = mulIndex(builder, loc, parts.getSizes()[0], parts.getStrides()[0]);
    Value array =
        viewElements(builder, loc, parts.getBaseBuffer(), OpFoldResult(parts.getOffset()), count);
    elements.push_back({array, parts.getStrides()[0], parts.getStrides()[1]});
  }
}

Value RunRing::getTarget(OpBuilder &builder, const Copy &copy, Value thread) const {
  Value width = getIndex(builder, loc, getWidth(copy.source));
  return addIndex(builder, loc, mulIndex(builder, loc, thread, width), copy.first);
}

Value RunRing::getFirstPlace(OpBuilder &builder, const Copy &copy, Value thread) const {
  Value stride = getIndex(builder, loc, getStride(copy.source));
  SmallVector<Value> digits =
      splitIndex(builder, loc, getTarget(builder, copy, thread), {Value(), stride});
  Value lastRun = addIndex(builder, loc, runs->numRuns, -1);
  Value run = minIndex(builder, loc, addIndex(builder, loc, firstRun, digits[0]), lastRun);
  auto [sample, first] = runs->at(builder, run);
  const Elements &from = elements[copy.source];
  Value vector =
      addIndex(builder, loc, mulIndex(builder, loc, runs->stepAt(builder, first), from.ofStep),
               mulIndex(builder, loc, sample, from.ofSample));
  int64_t last = getNumRows(copy.source) - getWidth(copy.source);
  return addIndex(builder, loc, vector,
                  minIndex(builder, loc, digits[1], getIndex(builder, loc, last)));
}

Value RunRing::begin(OpBuilder &builder, Value block, const KernelArrays &arrays,
                     const ColumnRuns &columnRuns) {
  runs = &columnRuns;
  allocate(builder);
  view(builder, arrays);
  Value firstColumn = mulIndex(builder, loc, block, getIndex(builder, loc, columnsOfWarp));
  firstRun =
      arith::DivUIOp::create(builder, loc, firstColumn, getIndex(builder, loc, runs->numColumns));
  Value steps =
      arith::SubIOp::create(builder, loc, runs->stepAt(builder, getIndex(builder, loc, 1)),
                            runs->stepAt(builder, getIndex(builder, loc, 0)));
  strides.clear();
  for (const Copy &copy : places)
    strides.push_back(mulIndex(builder, loc, steps, elements[copy.source].ofStep));
  auto type = VectorType::get(places.size(), builder.getIndexType());
  auto find = [&](OpBuilder &inThread, ValueRange at, ValueRange) {
    auto own = llvm::map_to_vector(
        places, [&](const Copy &copy) { return getFirstPlace(inThread, copy, at[0]); });
    return SmallVector<Value>{packScalars(inThread, loc, own)};
  };
  Value next =
      bgpu::ForEachOp::create(builder, loc, kWarpThreads, ValueRange(), type, find).getResult(0);
  for (int64_t link = 0; link < stages - 1; ++link)
    next = request(builder, getIndex(builder, loc, link), next);
  wait(builder, getIndex(builder, loc, 0));
  return next;
}

Value RunRing::advance(OpBuilder &builder, Value link, Value from) {
  Value next = request(builder, addIndex(builder, loc, link, stages - 1), from);
  wait(builder, addIndex(builder, loc, link, 1));
  return next;
}

/// Returns the next addresses. Links past the end repeat the last one, in slots already read.
Value RunRing::request(OpBuilder &builder, Value link, Value from) {
  Value slot = bgpu::getRingSlot(builder, loc, link, stages);
  Value moves = isBelow(builder, loc, addIndex(builder, loc, link, 1), runs->length);
  auto token = nvgpu::DeviceAsyncTokenType::get(builder.getContext());
  Type type = cast<RankedTensorType>(from.getType()).getElementType();
  auto copy = [&](OpBuilder &inThread, ValueRange at, ValueRange own) {
    SmallVector<Value> now = unpackScalars(inThread, loc, own);
    for (const Copy &part : copies)
      nvgpu::DeviceAsyncCopyOp::create(inThread, loc, token, rings[part.source],
                                       ValueRange{slot, getTarget(inThread, part, at[0])},
                                       elements[part.source].array, now[part.place],
                                       inThread.getIndexAttr(getWidth(part.source)),
                                       /*srcElements=*/Value(), /*bypassL1=*/UnitAttr());
    SmallVector<Value> next = moveIndices(inThread, loc, moves, now, strides);
    return SmallVector<Value>{packScalars(inThread, loc, next)};
  };
  Value next = bgpu::ForEachOp::create(builder, loc, kWarpThreads, from, type, copy).getResult(0);
  nvgpu::DeviceAsyncCreateGroupOp::create(builder, loc, token, ValueRange());
  return next;
}

SmallVector<Value> RunRing::getSlots(OpBuilder &builder, Value link) const {
  Value slot = bgpu::getRingSlot(builder, loc, link, stages);
  return llvm::map_to_vector(rings, [&](Value ring) { return viewSlot(builder, loc, ring, slot); });
}

void RunRing::wait(OpBuilder &builder, Value link) const {
  bgpu::WaitOp::create(builder, loc, getSlots(builder, link), stages - 2);
}

Value RunRing::load(OpBuilder &builder, size_t source, Value slot, Value run, Value row) const {
  Value ofWarp = arith::SubIOp::create(builder, loc, run, firstRun);
  Value first = mulIndex(builder, loc, ofWarp, getIndex(builder, loc, getStride(source)));
  return memref::LoadOp::create(builder, loc, slot, addIndex(builder, loc, first, row));
}
