//===- RunRing.cpp - reads the vectors of several runs ahead --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RunRing.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

using namespace mlir;
using namespace bppsa;

/// Links that the ring holds: a column of a small state takes some 0.3 us for one.
static constexpr int64_t kSlots = 4;

RunRing::RunRing(Location loc, ArrayRef<Value> sources, int64_t numColumns)
    : loc(loc), sources(sources), mostRuns(llvm::divideCeil(kWarpThreads - 1, numColumns) + 1) {}

int64_t RunRing::getStride(size_t source) const {
  return llvm::alignTo(cast<MemRefType>(sources[source].getType()).getDimSize(2), kLoadedTogether);
}

SmallVector<MemRefType> RunRing::getSharedTypes() const {
  SmallVector<MemRefType> types;
  for (size_t i = 0; i < sources.size(); ++i) {
    Type element = cast<MemRefType>(sources[i].getType()).getElementType();
    types.push_back(MemRefType::get({kSlots, roundUpToWarps(mostRuns * getStride(i))}, element));
  }
  return types;
}

void RunRing::begin(OpBuilder &builder, const LaunchedThread &thread, ValueRange shared,
                    const ColumnRuns &walked) {
  rings.assign(shared.begin(), shared.end());
  runs = &walked;
  Value firstColumn = mulIndex(builder, loc, thread.block, getIndex(builder, loc, kWarpThreads));
  Value firstRun =
      arith::DivUIOp::create(builder, loc, firstColumn, getIndex(builder, loc, runs->numColumns));
  Value lastRun = addIndex(builder, loc, runs->numRuns, -1);
  copies.clear();
  for (size_t i = 0; i < sources.size(); ++i) {
    Value last = getIndex(builder, loc, cast<MemRefType>(sources[i].getType()).getDimSize(2) - 1);
    for (int64_t at = 0; at < mostRuns * getStride(i); at += kWarpThreads) {
      Value to = addIndex(builder, loc, thread.thread, at);
      SmallVector<Value> digits =
          splitIndex(builder, loc, to, {Value(), getIndex(builder, loc, getStride(i))});
      Value run = minIndex(builder, loc, addIndex(builder, loc, firstRun, digits[0]), lastRun);
      auto [sample, first] = runs->at(builder, run);
      copies.push_back({i, to, sample, first, minIndex(builder, loc, digits[1], last)});
    }
  }
  for (int64_t link = 0; link < kSlots - 1; ++link)
    copy(builder, getIndex(builder, loc, link));
  wait(builder);
}

void RunRing::advance(OpBuilder &builder, Value link) {
  copy(builder, addIndex(builder, loc, link, kSlots - 1));
  wait(builder);
}

void RunRing::copy(OpBuilder &builder, Value link) {
  // The slot of a link beyond the last one is that of a link which has been read.
  Value slot = getSlot(builder, link);
  Value read = minIndex(builder, loc, link, addIndex(builder, loc, runs->length, -1));
  auto type = nvgpu::DeviceAsyncTokenType::get(builder.getContext());
  for (const Copy &part : copies) {
    Value step = runs->stepAt(builder, addIndex(builder, loc, part.first, read));
    nvgpu::DeviceAsyncCopyOp::create(
        builder, loc, type, rings[part.source], ValueRange{slot, part.to}, sources[part.source],
        ValueRange{step, part.sample, part.row}, builder.getIndexAttr(1),
        /*srcElements=*/Value(), /*bypassL1=*/UnitAttr());
  }
  token = nvgpu::DeviceAsyncCreateGroupOp::create(builder, loc, type, ValueRange());
}

void RunRing::wait(OpBuilder &builder) {
  nvgpu::DeviceAsyncWaitOp::create(builder, loc, token, builder.getI32IntegerAttr(kSlots - 2));
}

Value RunRing::load(OpBuilder &builder, size_t source, Value link, Value run, int64_t row) const {
  Value first = mulIndex(builder, loc, run, getIndex(builder, loc, getStride(source)));
  return memref::LoadOp::create(
      builder, loc, rings[source],
      ValueRange{getSlot(builder, link), addIndex(builder, loc, first, row)});
}

Value RunRing::getSlot(OpBuilder &builder, Value link) const {
  return arith::AndIOp::create(builder, loc, link, getIndex(builder, loc, kSlots - 1));
}
