//===- TiledProduct.cpp - tiled products on tensor cores ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "TiledProduct.h"
#include "../ThreadNumbers.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"

using namespace mlir;
using namespace bppsa;

static constexpr int64_t kWarpsOfSide = 2;

/// Warps along rows and columns, groups of a warp, threads of a group.
static constexpr int64_t kFragments[] = {kWarpsOfSide, kWarpsOfSide, FragmentLayout::kGroups,
                                         FragmentLayout::kGroupThreads};

/// Padding that puts 4 neighbours of 8 rows, or 8 of 4, into different shared-memory banks.
static constexpr int64_t kPadding[] = {/*OfDepth=*/8, /*OfSide=*/4};

/// Reading the other factor costs as much as 16 elements.
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
    : loc(loc), precision(precision), left(leftRows, rows, FragmentLayout::kRows),
      right(rightRows, columns, FragmentLayout::kColumns) {}

Value TiledProduct::allocate(OpBuilder &builder, const Factor &factor) const {
  int64_t stride = factor.getRowSize() + kPadding[static_cast<int>(factor.rows)];
  return memref::AllocOp::create(
      builder, loc,
      bgpu::getSharedType({kSlots, factor.getNumRows(), stride}, builder.getF32Type()));
}

TiledProduct::ThreadPosition TiledProduct::getThread(OpBuilder &builder,
                                                     ValueRange position) const {
  auto getFirst = [&](const Factor &factor, Value warp) {
    return mulIndex(builder, loc, warp, getIndex(builder, loc, factor.tiles * factor.tileSize));
  };
  return {FragmentLayout(loc, precision, position[2], position[3]), getFirst(left, position[0]),
          getFirst(right, position[1])};
}

SmallVector<Value> TiledProduct::begin(OpBuilder &builder, Value row, Value column, Start start) {
  left.first = row;
  right.first = column;
  left.shared = allocate(builder, left);
  right.shared = allocate(builder, right);
  auto type = VectorType::get(FragmentLayout::kEntries, builder.getF32Type());
  SmallVector<Type> types(left.tiles * right.tiles, type);
  auto sums = bgpu::ForEachOp::create(
      builder, loc, kFragments, ValueRange(), types,
      [&](OpBuilder &inThread, ValueRange at, ValueRange) {
        ThreadPosition thread = getThread(inThread, at);
        Value zero = arith::ConstantOp::create(inThread, loc, inThread.getF32FloatAttr(0));
        SmallVector<Value> fragments;
        for (size_t number = 0; number < types.size(); ++number) {
          SmallVector<Value> entries(FragmentLayout::kEntries, zero);
          for (auto [i, entry] : llvm::enumerate(entries))
            if (start)
              entry = start(inThread, getColumn(inThread, thread, number, i));
          fragments.push_back(packScalars(inThread, loc, entries));
        }
        return fragments;
      });
  return llvm::to_vector_of<Value>(sums.getResults());
}

Value TiledProduct::getRow(OpBuilder &builder, const ThreadPosition &thread, int64_t number,
                           int64_t i) const {
  Value inWarp = addIndex(builder, loc, thread.layout.getRow(builder, i),
                          number / right.tiles * FragmentLayout::kRows);
  return addIndex(builder, loc, addIndex(builder, loc, left.first, thread.firstRow), inWarp);
}

Value TiledProduct::getColumn(OpBuilder &builder, const ThreadPosition &thread, int64_t number,
                              int64_t i) const {
  Value inWarp = addIndex(builder, loc, thread.layout.getColumn(builder, i),
                          number % right.tiles * FragmentLayout::kColumns);
  return addIndex(builder, loc, addIndex(builder, loc, right.first, thread.firstColumn), inWarp);
}

void TiledProduct::store(OpBuilder &builder, ValueRange sums, Value rows, int64_t columns,
                         function_ref<StoreInRow(OpBuilder &, Value row)> getStore) const {
  // Pairs of fragment entries are in one row.
  int64_t together = 2;
  auto storeRow = [&](OpBuilder &inRow, const ThreadPosition &thread, ValueRange fragments,
                      Value row, int64_t first, int64_t half) {
    StoreInRow storeInRow = getStore(inRow, row);
    for (int64_t number = first; number < first + right.tiles; ++number)
      for (int64_t i = half; i < half + together; ++i) {
        Value column = getColumn(inRow, thread, number, i);
        Value sum = vector::ExtractOp::create(inRow, loc, fragments[number], i);
        if (columns % right.side == 0) {
          storeInRow(inRow, column, sum);
          continue;
        }
        emitIf(inRow, loc, isBelow(inRow, loc, column, getIndex(inRow, loc, columns)),
               [&](OpBuilder &inside) { storeInRow(inside, column, sum); });
      }
  };
  bgpu::ForEachOp::create(
      builder, loc, kFragments, sums,
      [&](OpBuilder &inThread, ValueRange at, ValueRange fragments) {
        ThreadPosition thread = getThread(inThread, at);
        for (int64_t first = 0, e = fragments.size(); first < e; first += right.tiles)
          for (int64_t half = 0; half < FragmentLayout::kEntries; half += together) {
            Value row = getRow(inThread, thread, first, half);
            emitIf(inThread, loc, isBelow(inThread, loc, row, rows),
                   [&](OpBuilder &inRow) { storeRow(inRow, thread, fragments, row, first, half); });
          }
      });
}

SmallVector<Value> TiledProduct::multiply(OpBuilder &builder, ValueRange leftArrays,
                                          ValueRange rightArrays, Value first, Value last,
                                          ValueRange sums) {
  left.arrays = left.stack(leftArrays);
  right.arrays = right.stack(rightArrays);
  firstDepth = first;
  lastDepth = last;
  ofDepth = nullptr;
  for (const Factor *factor : {&left, &right})
    if (factor->rows == FactorRows::OfDepth)
      ofDepth = factor;
  SmallVector<Value> carried = getFirstDigits(builder);
  for (int64_t i = 0; i < kAhead; ++i)
    carried = request(builder, getIndex(builder, loc, i), carried);
  wait(builder, getIndex(builder, loc, 0));
  size_t numDigits = carried.size();
  llvm::append_range(carried, sums);
  Value length = arith::SubIOp::create(builder, loc, last, first);
  Value numChunks = arith::DivUIOp::create(builder, loc, addIndex(builder, loc, length, kDepth - 1),
                                           getIndex(builder, loc, kDepth));
  SmallVector<Value> results = emitFold(
      builder, loc, getIndex(builder, loc, 0), numChunks, carried,
      [&](OpBuilder &nested, Value chunk, ValueRange before) {
        SmallVector<Value> after = request(
            nested, arith::AddIOp::create(nested, loc, chunk, getIndex(nested, loc, kAhead)),
            before.take_front(numDigits));
        llvm::append_range(after, multiplyChunk(nested, chunk, before.drop_front(numDigits)));
        wait(nested, addIndex(nested, loc, chunk, 1));
        return after;
      });
  // Pending copies must not overwrite the next product's chunks.
  bgpu::WaitOp::create(builder, loc, ValueRange{left.shared, right.shared}, /*groups=*/0);
  return SmallVector<Value>(ArrayRef(results).drop_front(numDigits));
}

Value TiledProduct::load(OpBuilder &builder, const Factor &factor, Value slot, Value side,
                         Value depth) const {
  bool isOfDepth = factor.rows == FactorRows::OfDepth;
  return memref::LoadOp::create(builder, loc, slot,
                                ValueRange{isOfDepth ? depth : side, isOfDepth ? side : depth});
}

/// Returns fragments of tiles from `first` on, at `depth` of a chunk.
SmallVector<Value> TiledProduct::readFragments(OpBuilder &builder, const Factor &factor, Value slot,
                                               int64_t depth, int64_t first, int64_t count) const {
  bool isLeft = &factor == &left;
  int64_t size = getTileDepth(precision) / (isLeft ? 2 : 4);
  auto type = VectorType::get(size, builder.getF32Type());
  SmallVector<Type> types(count, type);
  auto fragments = bgpu::ForEachOp::create(
      builder, loc, kFragments, ValueRange(), types,
      [&](OpBuilder &inThread, ValueRange at, ValueRange) {
        ThreadPosition thread = getThread(inThread, at);
        SmallVector<Value> own;
        for (int64_t number = first; number < first + count; ++number) {
          auto read = [&](OpBuilder &nested, Value row, Value column) {
            Value inWarp = addIndex(nested, loc, isLeft ? row : column, number * factor.tileSize);
            Value side =
                addIndex(nested, loc, isLeft ? thread.firstRow : thread.firstColumn, inWarp);
            return load(nested, factor, slot, side,
                        addIndex(nested, loc, isLeft ? column : row, depth));
          };
          SmallVector<Value> elements =
              isLeft ? thread.layout.readA(inThread, read) : thread.layout.readB(inThread, read);
          own.push_back(packScalars(inThread, loc, elements));
        }
        return own;
      });
  return llvm::to_vector_of<Value>(fragments.getResults());
}

SmallVector<Value> TiledProduct::multiplyChunk(OpBuilder &builder, Value chunk,
                                               ValueRange sums) const {
  Value slot = bgpu::getRingSlot(builder, loc, chunk, kSlots);
  Value leftSlot = viewSlot(builder, loc, left.shared, slot);
  Value rightSlot = viewSlot(builder, loc, right.shared, slot);
  SmallVector<Value> next(sums);
  for (int64_t depth = 0; depth < kDepth; depth += getTileDepth(precision)) {
    SmallVector<Value> columns =
        readFragments(builder, right, rightSlot, depth, /*first=*/0, right.tiles);
    for (int64_t i = 0; i < left.tiles; ++i) {
      Value rows = readFragments(builder, left, leftSlot, depth, i, /*count=*/1)[0];
      for (int64_t j = 0; j < right.tiles; ++j) {
        Value &sum = next[i * right.tiles + j];
        sum = bgpu::MmaOp::create(builder, loc, sum.getType(), rows, columns[j], sum, precision);
      }
    }
  }
  return next;
}
