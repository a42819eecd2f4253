//===- LowerOuterSum.cpp - sums of outer products -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Blocks keep sums in registers and read rows of each step of a slab. Wide steps are far apart, so
// rows read again are copied to contiguous memory and rows read once are prefetched.
//
//===----------------------------------------------------------------------===//

#include "SumBlocks.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace bppsa;

/// Prefetch distance of unread rows, in steps.
static constexpr int64_t kFetchedStepsAhead = 12;

/// Emits separate code for the first block if it `differs`.
static void emitBlocksAndFirst(OpBuilder &builder, Location loc, int64_t size, int64_t block,
                               bool differs,
                               function_ref<void(OpBuilder &, Value, int64_t, bool isFirst)> emit) {
  if (!differs)
    return emitBlocks(builder, loc, size, block,
                      [&](OpBuilder &nested, Value first, int64_t count) {
                        emit(nested, first, count, /*isFirst=*/false);
                      });
  emit(builder, getIndex(builder, loc, 0), block, /*isFirst=*/true);
  emitBlocks(builder, loc, size - block, block, [&](OpBuilder &nested, Value first, int64_t count) {
    emit(nested, addIndex(nested, loc, first, block), count, /*isFirst=*/false);
  });
}

bool SlabArray::hasDistantSteps() const {
  constexpr int64_t kPageBytes = 4096;
  MemRefType type = getType();
  return getNumRows() * type.getShape().back() * type.getElementTypeBitWidth() / 8 >= kPageBytes;
}

Rows SlabArray::getRows(OpBuilder &builder, Location loc, const LaneSlab &slab, Value step,
                        int64_t first) const {
  if (!isSlab)
    return {array, {slab.block, step}, first};
  return {array, {arith::SubIOp::create(builder, loc, step, slab.first).getResult()}, first};
}

OuterBlocking OuterBlocking::get(const SlabArray &lhs, const SlabArray &rhs,
                                 const LaneOptions &options) {
  // Nearly square blocks read the fewest rows; blocks of vectors of several registers would be far
  // from square.
  int64_t parts = options.getRegistersOfVector();
  int64_t budget = options.getNumAccumulators() * parts, maxRows = 4;
  bool isLarge = budget >= 24;
  if (isLarge && lhs.hasDistantSteps())
    maxRows = 6;
  int64_t rows = getEvenBlock(lhs.getNumRows(), std::min(budget, maxRows));
  int64_t cols = getEvenBlock(rhs.getNumRows(), std::max<int64_t>(1, budget / rows));
  // Small blocks are bound by the L2 cache.
  return {rows, cols, parts, /*fetchesAhead=*/budget >= 12};
}

static void emitFetchAhead(OpBuilder &builder, Location loc, const SlabArray &array,
                           const LaneSlab &slab, Value step, Value row0, int64_t rows) {
  Value end = array.isSlab ? slab.last : getDim(builder, loc, array.array, 1);
  Value ahead =
      arith::MinUIOp::create(builder, loc, addIndex(builder, loc, step, kFetchedStepsAhead),
                             addIndex(builder, loc, end, -1));
  Value lane = getIndex(builder, loc, 0);
  for (int64_t i = 0; i < rows; ++i) {
    SmallVector<Value> indices = array.getRows(builder, loc, slab, ahead).prefix;
    llvm::append_values(indices, addIndex(builder, loc, row0, i), lane);
    memref::PrefetchOp::create(builder, loc, array.array, indices, /*isWrite=*/false,
                               /*localityHint=*/2, /*isDataCache=*/true);
  }
}

//===----------------------------------------------------------------------===//
// Slabs
//===----------------------------------------------------------------------===//

struct OuterSlabSums::OperandRows {
  const SlabArray &array;
  Value first;
  int64_t offset;
  /// Contiguous copies, or null, and the index of row `first` in them.
  Value copies, copy;
  bool isFirst;
};

/// Products that accumulate in registers: rows from `row0` and columns from `col0` on, for the sums
/// from `sumRow` and `sumCol` on.
struct OuterSlabSums::ProductBlock {
  Value row0, sumRow, col0, sumCol;
  /// Set if lanes are split.
  Value firstLane;
  int64_t rows = 0, cols = 0;
  /// True if no block of the slab has read these rows before.
  bool readsLhsFirst = false, readsRhsFirst = false;
};

OuterSlabSums::OuterSlabSums(OpBuilder &builder, Location loc, SlabArray lhs, SlabArray rhs,
                             OuterBlocking blocking, int64_t maxCols)
    : loc(loc), lhs(lhs), rhs(rhs), blocking(blocking) {
  VectorType rowType = Rows{lhs.array}.getRowType();
  auto allocate = [&](int64_t rows) {
    auto type =
        MemRefType::get({rows, kSlabSteps, rowType.getDimSize(0)}, rowType.getElementType());
    return memref::AllocaOp::create(builder, loc, type, builder.getI64IntegerAttr(64));
  };
  if (lhs.hasDistantSteps())
    leftRows = allocate(blocking.rows);
  // Each part of the lanes reads the same cache lines.
  if (blocking.parts > 1 && rhs.hasDistantSteps() && lhs.getNumRows() > blocking.rows)
    rightRows = allocate(maxCols);
}

Value OuterSlabSums::loadRow(OpBuilder &builder, const LaneSlab &slab, Value step, Value lane,
                             const OperandRows &operand) const {
  auto getPart = [&](const Rows &rows) {
    return lane ? rows.ofLanes(lane, rows.getRowType().getDimSize(0) / blocking.parts) : rows;
  };
  auto loadFromArray = [&] {
    Rows rows = operand.array.getRows(builder, loc, slab, step, operand.offset);
    return getPart(rows).load(builder, loc, operand.first);
  };
  if (!operand.copies)
    return loadFromArray();
  Value slabStep = arith::SubIOp::create(builder, loc, step, slab.first);
  Rows sideBySide =
      getPart({operand.copies, {addIndex(builder, loc, operand.copy, operand.offset)}});
  if (!operand.isFirst)
    return sideBySide.load(builder, loc, slabStep);
  Value row = loadFromArray();
  sideBySide.store(builder, loc, row, slabStep);
  return row;
}

void OuterSlabSums::emitProducts(OpBuilder &builder, const LaneSlab &slab,
                                 const ProductBlock &block, const Rows &sums) const {
  auto fetchAhead = [&](OpBuilder &nested, const SlabArray &array, bool isFirst, Value step,
                        Value row0, int64_t rows) {
    if (isFirst && blocking.fetches(array))
      emitFetchAhead(nested, loc, array, slab, step, row0, rows);
  };
  Value zero = getIndex(builder, loc, 0);
  SmallVector<Rows> homes;
  SmallVector<Tile> tiles;
  for (int64_t i = 0; i < block.rows; ++i) {
    Rows row = sums;
    if (block.firstLane)
      row = sums.ofLanes(block.firstLane, sums.getRowType().getDimSize(0) / blocking.parts);
    row.prefix.push_back(addIndex(builder, loc, block.sumRow, i));
    homes.append(block.cols, row);
    llvm::append_range(tiles, getTiles(builder, loc, row, block.sumCol, block.cols));
  }
  emitSlabSums(builder, loc, slab, homes, tiles,
               [&](OpBuilder &nested, Value step, ValueRange carried) {
                 fetchAhead(nested, lhs, block.readsLhsFirst, step, block.row0, block.rows);
                 fetchAhead(nested, rhs, block.readsRhsFirst, step, block.col0, block.cols);
                 SmallVector<Value> right, next;
                 for (int64_t j = 0; j < block.cols; ++j)
                   right.push_back(
                       loadRow(nested, slab, step, block.firstLane,
                               {rhs, block.col0, j, rightRows, block.sumCol, block.readsRhsFirst}));
                 for (int64_t i = 0; i < block.rows; ++i) {
                   Value left = loadRow(nested, slab, step, block.firstLane,
                                        {lhs, block.row0, i, leftRows, zero, block.readsLhsFirst});
                   for (int64_t j = 0; j < block.cols; ++j)
                     next.push_back(
                         vector::FMAOp::create(nested, loc, left, right[j], carried[next.size()]));
                 }
                 return next;
               });
}

void OuterSlabSums::emitParts(OpBuilder &builder, const LaneSlab &slab, ProductBlock block,
                              const Rows &sums) const {
  if (blocking.parts == 1)
    return emitProducts(builder, slab, block, sums);
  int64_t lanes = sums.getRowType().getDimSize(0);
  emitFor(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, lanes),
          lanes / blocking.parts, [&](OpBuilder &nested, Value lane) {
            block.firstLane = lane;
            emitProducts(nested, slab, block, sums);
          });
}

void OuterSlabSums::emit(OpBuilder &builder, const LaneSlab &slab, const OuterTile &tile,
                         const Rows &sums) const {
  auto emitRow = [&](OpBuilder &inRow, ProductBlock block) {
    emitBlocksAndFirst(inRow, loc, tile.cols, std::min(blocking.cols, tile.cols),
                       static_cast<bool>(leftRows) || blocking.fetches(lhs),
                       [&](OpBuilder &nested, Value col, int64_t cols, bool isFirst) {
                         block.col0 = arith::AddIOp::create(nested, loc, tile.col0, col);
                         block.sumCol = col;
                         block.cols = cols;
                         block.readsLhsFirst = isFirst;
                         emitParts(nested, slab, block, sums);
                       });
  };
  emitBlocksAndFirst(builder, loc, tile.rows, std::min(blocking.rows, tile.rows),
                     rightRows || blocking.fetches(rhs),
                     [&](OpBuilder &inRow, Value row, int64_t count, bool isFirst) {
                       ProductBlock block;
                       block.row0 = arith::AddIOp::create(inRow, loc, tile.row0, row);
                       block.sumRow = row;
                       block.rows = count;
                       block.readsRhsFirst = isFirst;
                       emitRow(inRow, block);
                     });
}

void OuterSlabSums::emitAll(OpBuilder &builder, const LaneSlab &slab, const Rows &sums) const {
  Value zero = getIndex(builder, loc, 0);
  emit(builder, slab, {zero, zero, lhs.getNumRows(), rhs.getNumRows()}, sums);
}

//===----------------------------------------------------------------------===//
// Whole sums
//===----------------------------------------------------------------------===//

namespace {
/// Rows of the result per task, of which `cols` columns are computed together.
struct ResultTile {
  int64_t rows, cols;
};
} // namespace

/// Square tiles read the fewest rows. Sums and slab rows stay in L2, of at most 512 KiB with few
/// registers. Several tasks per thread balance load.
static ResultTile chooseTile(int64_t numRows, int64_t numCols, const OuterBlocking &blocking,
                             VectorType rowType) {
  constexpr int64_t kMinTasks = 4;
  bool isLarge = blocking.parts == 1;
  int64_t sumBytes = isLarge ? 256 * 1024 : 128 * 1024, side = isLarge ? 128 : 64;
  int64_t most = sumBytes * 8 / (rowType.getNumElements() * rowType.getElementTypeBitWidth());
  int64_t cols = numCols;
  if (numCols > 3 * side / 2)
    cols = llvm::alignTo(getEvenBlock(numCols, side), blocking.cols);
  int64_t rows = std::min(most / cols, llvm::divideCeilSigned(numRows, kMinTasks));
  return {std::max<int64_t>(1, rows / blocking.rows) * blocking.rows, cols};
}

static void emitResultTile(OpBuilder &builder, OuterSumOp op, const OuterTile &tile,
                           const OuterSlabSums &slabSums, Value sums) {
  Location loc = op.getLoc();
  auto forEachRow = [&](OpBuilder &at, function_ref<void(OpBuilder &, Value)> body) {
    emitFor(at, loc, getIndex(at, loc, 0), getIndex(at, loc, tile.rows), 1, body);
  };
  forEachRow(builder, [&](OpBuilder &nested, Value row) {
    emitZeroRows(nested, loc, {sums, {row}}, tile.cols);
  });
  auto emitSlab = [&](OpBuilder &inSlab, const LaneSlab &slab) {
    slabSums.emit(inSlab, slab, tile, {sums});
  };
  emitSlabs(builder, loc, op.getLhs(), emitSlab, [&](OpBuilder &inBlock, Value block) {
    forEachRow(inBlock, [&](OpBuilder &nested, Value row) {
      emitClearPadding(nested, loc, op.getBatch(), block, {sums, {row}}, tile.cols);
    });
  });
  forEachRow(builder, [&](OpBuilder &inRow, Value row) {
    Value resultRow = arith::AddIOp::create(inRow, loc, tile.row0, row);
    emitLaneSums(inRow, loc, {sums, {row}}, tile.cols,
                 [&](OpBuilder &nested, Value col, Value sum) {
                   Value resultCol = arith::AddIOp::create(nested, loc, tile.col0, col);
                   memref::StoreOp::create(nested, loc, sum, op.getDestination(),
                                           ValueRange{resultRow, resultCol});
                 });
  });
}

static void emitParallelRows(OpBuilder &builder, Location loc, int64_t numRows, int64_t taskRows,
                             function_ref<void(OpBuilder &, Value, int64_t)> emit) {
  if (int64_t numTasks = numRows / taskRows)
    emitParallel(builder, loc, getIndex(builder, loc, numTasks),
                 [&](OpBuilder &nested, Value task) {
                   Value size = getIndex(nested, loc, taskRows);
                   emit(nested, arith::MulIOp::create(nested, loc, task, size), taskRows);
                 });
  if (int64_t rest = numRows % taskRows)
    emitParallel(builder, loc, getIndex(builder, loc, 1), [&](OpBuilder &nested, Value) {
      emit(nested, getIndex(nested, loc, numRows - rest), rest);
    });
}

void bppsa::lowerOuterSum(OuterSumOp op, const LaneOptions &options) {
  if (options.lanes == 1)
    return lowerUnitOuterSum(op, options);
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SlabArray lhs = {op.getLhs()}, rhs = {op.getRhs()};
  int64_t numRows = lhs.getNumRows(), numCols = rhs.getNumRows();
  OuterBlocking blocking = OuterBlocking::get(lhs, rhs, options);
  VectorType rowType = Rows{op.getLhs()}.getRowType();
  ResultTile tile = chooseTile(numRows, numCols, blocking, rowType);
  emitParallelRows(
      builder, loc, numRows, tile.rows, [&](OpBuilder &task, Value row0, int64_t rows) {
        auto type =
            MemRefType::get({rows, tile.cols, rowType.getDimSize(0)}, rowType.getElementType());
        Value sums = memref::AllocaOp::create(task, loc, type, task.getI64IntegerAttr(64));
        OuterSlabSums slabSums(task, loc, lhs, rhs, blocking, tile.cols);
        emitBlocks(task, loc, numCols, tile.cols, [&](OpBuilder &nested, Value col0, int64_t cols) {
          emitResultTile(nested, op, {row0, col0, rows, cols}, slabSums, sums);
        });
      });
}
