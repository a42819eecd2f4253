//===- ChunkCopies.cpp - chunk copies to shared memory --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The block copies rows of both factors of a chunk, several threads per row. Out-of-bounds copies
// write zeros, so requests have no branches.
//
//===----------------------------------------------------------------------===//

#include "TiledProduct.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

using namespace mlir;
using namespace bppsa;

ArrayStack TiledProduct::Factor::stack(ValueRange stacked) const {
  int64_t rank = cast<MemRefType>(stacked[0].getType()).getRank();
  return ArrayStack(stacked, rows == FactorRows::OfDepth ? rank - 1 : 0);
}

static SmallVector<Value> splitRow(OpBuilder &builder, Location loc, const ArrayStack &arrays,
                                   Value number) {
  if (arrays.getRank() == 2)
    return {number};
  return splitIndex(builder, loc, number, {Value(), arrays.getDim(builder, loc, 1)});
}

/// With `OfSide`, every chunk copies the same rows.
TiledProduct::SourceRow TiledProduct::getSideRow(OpBuilder &builder, const Factor &factor,
                                                 Value row) const {
  Value number = addIndex(builder, loc, factor.first, row);
  Value count = factor.arrays.getDim(builder, loc, 0);
  if (factor.arrays.getRank() == 3)
    count = mulIndex(builder, loc, count, factor.arrays.getDim(builder, loc, 1));
  Value read = minIndex(builder, loc, number, addIndex(builder, loc, count, -1));
  ArrayStack::Place place = factor.arrays.find(builder, loc, read);
  return {place.array, splitRow(builder, loc, factor.arrays, place.position),
          isBelow(builder, loc, number, count)};
}

/// Returns step and sample of the rows of the first chunk, shared by factors with `OfDepth`.
SmallVector<Value> TiledProduct::getFirstDigits(OpBuilder &builder) {
  if (!ofDepth || ofDepth->arrays.getRank() == 2)
    return {};
  const ArrayStack &arrays = ofDepth->arrays;
  numSamples = arrays.getDim(builder, loc, 1);
  SmallVector<Value> ofChunk = splitRow(builder, loc, arrays, getIndex(builder, loc, kDepth));
  chunkSteps = ofChunk[0];
  chunkSamples = ofChunk[1];
  SmallVector<Type> types(2, builder.getIndexType());
  auto digits = bgpu::ForEachOp::create(
      builder, loc, {ofDepth->getNumRows(), ofDepth->getNumParts()}, ValueRange(), types,
      [&](OpBuilder &inThread, ValueRange at, ValueRange) {
        return splitRow(inThread, loc, arrays, addIndex(inThread, loc, firstDepth, at[0]));
      });
  return llvm::to_vector_of<Value>(digits.getResults());
}

/// Divisions take many instructions, so step and sample are incremented.
SmallVector<Value> TiledProduct::getNextDigits(OpBuilder &builder, ValueRange digits) const {
  if (digits.empty())
    return {};
  SmallVector<Type> types(2, builder.getIndexType());
  auto next = bgpu::ForEachOp::create(
      builder, loc, {ofDepth->getNumRows(), ofDepth->getNumParts()}, digits, types,
      [&](OpBuilder &inThread, ValueRange, ValueRange own) {
        Value sample = addIndex(inThread, loc, own[1], chunkSamples);
        Value isBelowCount = isBelow(inThread, loc, sample, numSamples);
        Value wrapped = arith::SubIOp::create(inThread, loc, sample, numSamples);
        Value step = addIndex(inThread, loc, own[0], chunkSteps);
        Value after = addIndex(inThread, loc, step, 1);
        return SmallVector<Value>{
            arith::SelectOp::create(inThread, loc, isBelowCount, step, after),
            arith::SelectOp::create(inThread, loc, isBelowCount, sample, wrapped)};
      });
  return llvm::to_vector_of<Value>(next.getResults());
}

TiledProduct::SourceRow TiledProduct::getDepthRow(OpBuilder &builder, Value first, Value row,
                                                  ValueRange digits) const {
  Value number = addIndex(builder, loc, addIndex(builder, loc, firstDepth, row), first);
  Value exists = isBelow(builder, loc, number, lastDepth);
  // A missing row is not read but needs a valid address.
  Value other = getIndex(builder, loc, 0);
  SmallVector<Value> at(digits);
  if (at.empty())
    at.push_back(number);
  at[0] = arith::SelectOp::create(builder, loc, exists, at[0], other);
  return {Value(), at, exists};
}

void TiledProduct::requestFactor(OpBuilder &builder, const Factor &factor, Value chunk,
                                 ValueRange digits) const {
  bool isOfDepth = factor.rows == FactorRows::OfDepth;
  Value slot = bgpu::getRingSlot(builder, loc, chunk, kSlots);
  Value first = mulIndex(builder, loc, chunk, getIndex(builder, loc, kDepth));
  bgpu::ForEachOp::create(builder, loc, {factor.getNumRows(), factor.getNumParts()},
                          isOfDepth ? digits : ValueRange(),
                          [&](OpBuilder &inThread, ValueRange at, ValueRange own) {
                            SourceRow source = isOfDepth ? getDepthRow(inThread, first, at[0], own)
                                                         : getSideRow(inThread, factor, at[0]);
                            copyPart(inThread, factor, source, first, {slot, at[0], at[1]});
                          });
}

void TiledProduct::copyPart(OpBuilder &builder, const Factor &factor, const SourceRow &source,
                            Value depth, const ChunkPart &to) const {
  int64_t parts = factor.getNumParts(), rowSize = factor.getRowSize();
  int64_t size = factor.arrays.getDimSize(factor.arrays.getRank() - 1);
  // The widest copies that leave work for all threads of a row.
  int64_t width = factor.arrays.getAlignedElements(std::min(rowSize / parts, kElementsPerAccess));
  Value first = factor.first;
  if (factor.rows == FactorRows::OfSide)
    first = addIndex(builder, loc, firstDepth, depth);
  Value elements = getIndex(builder, loc, width);
  for (int64_t i = 0; i < rowSize; i += parts * width) {
    Value inRow = addIndex(builder, loc, mulIndex(builder, loc, to.part, elements), i);
    Value column = addIndex(builder, loc, first, inRow);
    Value exists = source.exists;
    if (size % rowSize != 0)
      exists = arith::AndIOp::create(builder, loc, exists,
                                     isBelow(builder, loc, column, getIndex(builder, loc, size)));
    Value count =
        arith::SelectOp::create(builder, loc, exists, elements, getIndex(builder, loc, 0));
    ArrayStack::Place place = {
        source.array, minIndex(builder, loc, column, getIndex(builder, loc, size - width))};
    if (!place.array)
      place = factor.arrays.find(builder, loc, place.position);
    SmallVector<Value> from(source.at);
    from.push_back(place.position);
    nvgpu::DeviceAsyncCopyOp::create(
        builder, loc, nvgpu::DeviceAsyncTokenType::get(builder.getContext()), factor.shared,
        ValueRange{to.slot, to.row, inRow}, place.array, from, builder.getIndexAttr(width), count,
        width == kElementsPerAccess ? builder.getUnitAttr() : UnitAttr());
  }
}

/// Returns the next indices. Chunks past the end are zero.
SmallVector<Value> TiledProduct::request(OpBuilder &builder, Value chunk, ValueRange digits) const {
  requestFactor(builder, left, chunk, digits);
  requestFactor(builder, right, chunk, digits);
  auto token = nvgpu::DeviceAsyncTokenType::get(builder.getContext());
  nvgpu::DeviceAsyncCreateGroupOp::create(builder, loc, token, ValueRange());
  return getNextDigits(builder, digits);
}

/// Called after the chunk farthest ahead was requested.
void TiledProduct::wait(OpBuilder &builder, Value chunk) const {
  Value slot = bgpu::getRingSlot(builder, loc, chunk, kSlots);
  SmallVector<Value> slots = {viewSlot(builder, loc, left.shared, slot),
                              viewSlot(builder, loc, right.shared, slot)};
  bgpu::WaitOp::create(builder, loc, slots, kAhead - 1);
}
