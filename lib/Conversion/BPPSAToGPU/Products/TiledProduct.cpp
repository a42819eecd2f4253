//===- TiledProduct.cpp - large products on tensor cores ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "TiledProduct.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

using namespace mlir;
using namespace bppsa;

/// Chunks in shared memory: one that is multiplied, and three ahead.
static constexpr int64_t kSlots = 4;

/// Warps of a block along each side of its tile.
static constexpr int64_t kWarpsOfSide = 2;

/// Elements behind a row in shared memory, so that the elements that a warp reads at a time lie in
/// different banks: 4 neighbours of 8 rows, or 8 neighbours of 4 rows of the depth.
static constexpr int64_t kPadding[] = {/*OfDepth=*/8, /*OfSide=*/4};

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

bool bppsa::isTiledFactor(Value array) {
  auto type = dyn_cast<MemRefType>(array.getType());
  return type && (type.getRank() == 2 || type.getRank() == 3) && type.getElementType().isF32() &&
         !type.isDynamicDim(type.getRank() - 1) && type.isLastDimUnitStride();
}

bool bppsa::isStackedVector(Value array) {
  return getAlignedElements(cast<MemRefType>(array.getType())) > 1;
}

/// Elements of a side that a block has. A block reads as many of the other side again for each of
/// its tiles, which counts like 16 elements.
static int64_t chooseSide(int64_t size, int64_t tileSize) {
  int64_t most = 64, smallest = kWarpsOfSide * tileSize;
  if (ShapedType::isDynamic(size))
    return most;
  int64_t best = most;
  auto getCost = [&](int64_t side) { return llvm::divideCeil(size, side) * (side + 16); };
  for (int64_t side = most; side >= smallest; side /= 2)
    if (getCost(side) < getCost(best))
      best = side;
  return best;
}

TiledProduct::Factor::Factor(FactorRows rows, int64_t size, int64_t tileSize)
    : rows(rows), side(chooseSide(size, tileSize)), tileSize(tileSize),
      tiles(side / kWarpsOfSide / tileSize) {}

TiledProduct::TiledProduct(Location loc, TensorPrecision precision, int64_t rows, int64_t columns,
                           FactorRows leftRows, FactorRows rightRows)
    : loc(loc), tile(loc, precision), left(leftRows, rows, TensorTile::kRows),
      right(rightRows, columns, TensorTile::kColumns), slots(loc, kSlots) {}

SmallVector<MemRefType> TiledProduct::getSharedTypes(OpBuilder &builder) const {
  SmallVector<MemRefType> types;
  for (const Factor *factor : {&left, &right}) {
    int64_t stride = factor->getRowSize() + kPadding[static_cast<int>(factor->rows)];
    types.push_back(MemRefType::get({kSlots, factor->getNumRows(), stride}, builder.getF32Type()));
  }
  return types;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

void TiledProduct::beginFactor(OpBuilder &builder, Factor &factor, Value shared, Value first,
                               Value warpOfSide) {
  factor.shared = shared;
  factor.firstOfBlock = first;
  factor.firstOfWarp =
      mulIndex(builder, loc, warpOfSide, getIndex(builder, loc, factor.tiles * factor.tileSize));
  Value parts = getIndex(builder, loc, factor.getNumParts());
  SmallVector<Value> digits = splitIndex(builder, loc, thread.thread, {Value(), parts});
  factor.row = digits[0];
  factor.part = digits[1];
}

SmallVector<Value> TiledProduct::begin(OpBuilder &builder, const LaunchedThread &launched,
                                       Value row, Value column, Start start) {
  thread = launched;
  tile.begin(builder, thread.thread);
  Value side = getIndex(builder, loc, kWarpsOfSide);
  SmallVector<Value> digits = splitIndex(builder, loc, thread.thread,
                                         {Value(), side, getIndex(builder, loc, kWarpThreads)});
  beginFactor(builder, left, thread.shared[0], row, digits[0]);
  beginFactor(builder, right, thread.shared[1], column, digits[1]);
  SmallVector<Value> sums;
  Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  for (int64_t i = 0, e = left.tiles * right.tiles * TensorTile::kEntries; i < e; ++i)
    sums.push_back(start ? start(builder, getColumn(builder, i)) : zero);
  return sums;
}

Value TiledProduct::getRow(OpBuilder &builder, int64_t entry) const {
  int64_t number = entry / TensorTile::kEntries / right.tiles;
  Value inWarp = addIndex(builder, loc, tile.getRow(builder, entry % TensorTile::kEntries),
                          number * TensorTile::kRows);
  return addIndex(builder, loc, addIndex(builder, loc, left.firstOfBlock, left.firstOfWarp),
                  inWarp);
}

Value TiledProduct::getColumn(OpBuilder &builder, int64_t entry) const {
  int64_t number = entry / TensorTile::kEntries % right.tiles;
  Value inWarp = addIndex(builder, loc, tile.getColumn(builder, entry % TensorTile::kEntries),
                          number * TensorTile::kColumns);
  return addIndex(builder, loc, addIndex(builder, loc, right.firstOfBlock, right.firstOfWarp),
                  inWarp);
}

void TiledProduct::store(OpBuilder &builder, ValueRange sums, Value rows, int64_t columns,
                         function_ref<StoreInRow(OpBuilder &, Value row)> getStore) const {
  // Two neighbours of each tile are in one row.
  int64_t together = 2, entriesOfRow = right.tiles * TensorTile::kEntries;
  for (int64_t first = 0, e = sums.size(); first < e; first += entriesOfRow)
    for (int64_t half = 0; half < TensorTile::kEntries; half += together) {
      Value row = getRow(builder, first + half);
      emitIf(builder, loc, isBelow(builder, loc, row, rows), [&](OpBuilder &inRow) {
        StoreInRow storeInRow = getStore(inRow, row);
        for (int64_t i = 0; i < right.tiles * together; ++i) {
          int64_t entry = first + i / together * TensorTile::kEntries + half + i % together;
          Value column = getColumn(inRow, entry), sum = sums[entry];
          if (columns % right.side == 0) {
            storeInRow(inRow, column, sum);
            continue;
          }
          emitIf(inRow, loc, isBelow(inRow, loc, column, getIndex(inRow, loc, columns)),
                 [&](OpBuilder &inside) { storeInRow(inside, column, sum); });
        }
      });
    }
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

ArrayStack TiledProduct::Factor::stack(ValueRange stacked) const {
  int64_t rank = cast<MemRefType>(stacked[0].getType()).getRank();
  return ArrayStack(stacked, rows == FactorRows::OfDepth ? rank - 1 : 0);
}

/// The indices of row `number` of all `arrays`, before the last index.
static SmallVector<Value> splitRow(OpBuilder &builder, Location loc, const ArrayStack &arrays,
                                   Value number) {
  if (arrays.getRank() == 2)
    return {number};
  return splitIndex(builder, loc, number, {Value(), arrays.getDim(builder, loc, 1)});
}

/// The rows of a side are the same for all of the depth.
TiledProduct::SourceRow TiledProduct::getSideRow(OpBuilder &builder, const Factor &factor) const {
  Value number = addIndex(builder, loc, factor.firstOfBlock, factor.row);
  Value count = factor.arrays.getDim(builder, loc, 0);
  if (factor.arrays.getRank() == 3)
    count = mulIndex(builder, loc, count, factor.arrays.getDim(builder, loc, 1));
  Value read = minIndex(builder, loc, number, addIndex(builder, loc, count, -1));
  ArrayStack::Place place = factor.arrays.find(builder, loc, read);
  return {place.array, splitRow(builder, loc, factor.arrays, place.position),
          isBelow(builder, loc, number, count)};
}

/// Both factors have the same rows of the depth, or just one of them has such rows. Step and sample
/// of a row are counted on from chunk to chunk, as a division would take many instructions.
void TiledProduct::findDepthRows(OpBuilder &builder, const Factor &factor) {
  depthRow = addIndex(builder, loc, firstDepth, factor.row);
  firstDigits.clear();
  const ArrayStack &arrays = factor.arrays;
  if (arrays.getRank() == 2)
    return;
  numSamples = arrays.getDim(builder, loc, 1);
  firstDigits = splitRow(builder, loc, arrays, depthRow);
  SmallVector<Value> digits = splitRow(builder, loc, arrays, getIndex(builder, loc, kDepth));
  chunkSteps = digits[0];
  chunkSamples = digits[1];
}

TiledProduct::SourceRow TiledProduct::getDepthRow(OpBuilder &builder, Value chunk,
                                                  ValueRange digits) const {
  Value first = mulIndex(builder, loc, chunk, getIndex(builder, loc, kDepth));
  Value number = addIndex(builder, loc, depthRow, first);
  Value exists = isBelow(builder, loc, number, lastDepth);
  // A row that does not exist is not read, but has to have an address.
  Value other = getIndex(builder, loc, 0);
  SmallVector<Value> at(digits);
  if (at.empty())
    at.push_back(number);
  at[0] = arith::SelectOp::create(builder, loc, exists, at[0], other);
  return {Value(), at, exists};
}

SmallVector<Value> TiledProduct::getNextDigits(OpBuilder &builder, ValueRange digits) {
  if (digits.empty())
    return {};
  Value sample = addIndex(builder, loc, digits[1], chunkSamples);
  Value isBelowCount = isBelow(builder, loc, sample, numSamples);
  Value wrapped = arith::SubIOp::create(builder, loc, sample, numSamples);
  Value step = addIndex(builder, loc, digits[0], chunkSteps);
  return {
      arith::SelectOp::create(builder, loc, isBelowCount, step, addIndex(builder, loc, step, 1)),
      arith::SelectOp::create(builder, loc, isBelowCount, sample, wrapped)};
}

void TiledProduct::copy(OpBuilder &builder, const Factor &factor, Value chunk,
                        const SourceRow &source) const {
  int64_t parts = factor.getNumParts(), rowSize = factor.getRowSize();
  int64_t size = factor.arrays.getDimSize(factor.arrays.getRank() - 1);
  // As many as leave work for all threads of a row.
  int64_t width = factor.arrays.getAlignedElements(std::min(rowSize / parts, kLoadedTogether));
  Value first = factor.firstOfBlock;
  if (factor.rows == FactorRows::OfSide)
    first = addIndex(builder, loc, firstDepth,
                     mulIndex(builder, loc, chunk, getIndex(builder, loc, kDepth)));
  Value slot = slots.getSlot(builder, chunk), elements = getIndex(builder, loc, width);
  for (int64_t i = 0; i < rowSize; i += parts * width) {
    Value inRow = addIndex(builder, loc, mulIndex(builder, loc, factor.part, elements), i);
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
        ValueRange{slot, factor.row, inRow}, place.array, from, builder.getIndexAttr(width), count,
        width == kLoadedTogether ? builder.getUnitAttr() : UnitAttr());
  }
}

/// Asks for a chunk, and gives the digits of the next one. Chunks beyond the last are zeros.
SmallVector<Value> TiledProduct::request(OpBuilder &builder, Value chunk, ValueRange digits) {
  SourceRow ofDepth;
  if (depthRow)
    ofDepth = getDepthRow(builder, chunk, digits);
  copy(builder, left, chunk, left.rows == FactorRows::OfDepth ? ofDepth : leftRow);
  copy(builder, right, chunk, right.rows == FactorRows::OfDepth ? ofDepth : rightRow);
  slots.endGroup(builder);
  return getNextDigits(builder, digits);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

SmallVector<Value> TiledProduct::multiply(OpBuilder &builder, ValueRange leftArrays,
                                          ValueRange rightArrays, Value first, Value last,
                                          ValueRange sums) {
  left.arrays = left.stack(leftArrays);
  right.arrays = right.stack(rightArrays);
  firstDepth = first;
  lastDepth = last;
  depthRow = Value();
  for (auto [factor, row] : {std::pair(&left, &leftRow), std::pair(&right, &rightRow)}) {
    if (factor->rows == FactorRows::OfDepth)
      findDepthRows(builder, *factor);
    else
      *row = getSideRow(builder, *factor);
  }
  SmallVector<Value> carried = firstDigits;
  for (int64_t i = 0; i < slots.getAhead(); ++i)
    carried = request(builder, getIndex(builder, loc, i), carried);
  slots.waitForNext(builder);
  emitBarrier(builder, loc);
  size_t numDigits = carried.size();
  llvm::append_range(carried, sums);
  Value length = arith::SubIOp::create(builder, loc, last, first);
  Value numChunks = arith::DivUIOp::create(builder, loc, addIndex(builder, loc, length, kDepth - 1),
                                           getIndex(builder, loc, kDepth));
  SmallVector<Value> results = emitFold(
      builder, loc, getIndex(builder, loc, 0), numChunks, carried,
      [&](OpBuilder &nested, Value chunk, ValueRange before) {
        SmallVector<Value> after = request(nested, addIndex(nested, loc, chunk, slots.getAhead()),
                                           before.take_front(numDigits));
        llvm::append_range(after, multiplyChunk(nested, chunk, before.drop_front(numDigits)));
        slots.waitForNext(nested);
        emitBarrier(nested, loc);
        return after;
      });
  // Copies that nobody reads would be written over the next product's chunks.
  slots.waitForAll(builder);
  emitBarrier(builder, loc);
  return SmallVector<Value>(ArrayRef(results).drop_front(numDigits));
}

Value TiledProduct::load(OpBuilder &builder, const Factor &factor, Value slot, Value side,
                         Value depth) const {
  side = addIndex(builder, loc, factor.firstOfWarp, side);
  bool isOfDepth = factor.rows == FactorRows::OfDepth;
  return memref::LoadOp::create(
      builder, loc, factor.shared,
      ValueRange{slot, isOfDepth ? depth : side, isOfDepth ? side : depth});
}

SmallVector<Value> TiledProduct::multiplyChunk(OpBuilder &builder, Value chunk,
                                               ValueRange sums) const {
  Value slot = slots.getSlot(builder, chunk);
  SmallVector<Value> next(sums);
  for (int64_t depth = 0; depth < kDepth; depth += tile.getDepth()) {
    SmallVector<TensorTile::Fragment> columns;
    for (int64_t j = 0; j < right.tiles; ++j)
      columns.push_back(tile.readB(builder, [&](OpBuilder &nested, Value row, Value column) {
        return load(nested, right, slot, addIndex(nested, loc, column, j * TensorTile::kColumns),
                    addIndex(nested, loc, row, depth));
      }));
    for (int64_t i = 0; i < left.tiles; ++i) {
      auto rows = tile.readA(builder, [&](OpBuilder &nested, Value row, Value column) {
        return load(nested, left, slot, addIndex(nested, loc, row, i * TensorTile::kRows),
                    addIndex(nested, loc, column, depth));
      });
      for (int64_t j = 0; j < right.tiles; ++j) {
        int64_t first = (i * right.tiles + j) * TensorTile::kEntries;
        auto entries = ValueRange(next).slice(first, TensorTile::kEntries);
        llvm::copy(tile.multiply(builder, rows, columns[j], entries), next.begin() + first);
      }
    }
  }
  return next;
}
