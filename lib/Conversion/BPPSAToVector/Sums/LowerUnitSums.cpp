//===- LowerUnitSums.cpp - sums over steps, vectors over units ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// As in LowerSums.cpp every entry is summed in a fixed order, over the steps of
// a slab in registers and over slabs in memory. A vector holds neighbouring
// entries of the result, so there are no lanes to sum at the end.
//
//===----------------------------------------------------------------------===//

#include "SumBlocks.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// Rows and columns of blocks of sums that stay in registers, and those of a task: rows that one
/// thread has running sums of, and columns of which all its rows read the same steps of a slab.
struct UnitBlocking {
  int64_t rows, cols, taskRows, taskCols;

  static UnitBlocking get(const OuterOperands &operands, const LaneOptions &options);
};

/// Rows [row0, row0 + numRows) of the result, or its columns where `operands` are swapped.
class UnitTask {
public:
  UnitTask(OpBuilder &builder, Location loc, const OuterOperands &operands, UnitBlocking blocking,
           Value row0, int64_t numRows);

  void emit(OpBuilder &builder);

private:
  void emitCopyLeft(OpBuilder &builder, const Slab &slab) const;
  void emitSlab(OpBuilder &builder, const Slab &slab) const;
  void emitProducts(OpBuilder &builder, const Slab &slab, Value row, int64_t rows, Value col,
                    int64_t cols) const;
  void emitStore(OpBuilder &builder) const;

  Location loc;
  OuterOperands operands;
  UnitBlocking blocking;
  Value row0;
  int64_t numRows;
  /// The running sums, `[row, column]`.
  Value sums;
  /// Entries of the left operand, `[step, row]`, side by side. Null where they are in the sequence.
  Value left;
};
} // namespace

UnitBlocking UnitBlocking::get(const OuterOperands &operands, const LaneOptions &options) {
  // The steps of a slab stay in the first-level cache, the sums behind it.
  constexpr int64_t kSide = 128, kSums = 32768, kTasks = 4;
  int64_t numRows = operands.getNumRows(), numCols = operands.getNumCols();
  int64_t budget = options.getNumAccumulators();
  int64_t numTiles = llvm::divideCeil(numCols, kTileUnits);
  // The columns are in registers beside the sums.
  int64_t blockTiles = getEvenBlock(numTiles, options.hasFewRegisters() ? 1 : 4);
  int64_t mostRows = std::max<int64_t>(1, budget / blockTiles);
  UnitBlocking blocking;
  blocking.cols = std::min(numCols, blockTiles * kTileUnits);
  blocking.taskCols = numCols;
  if (numCols > 3 * kSide / 2)
    blocking.taskCols = llvm::alignTo(getEvenBlock(numCols, kSide), blocking.cols);
  // Even tasks, as many as an even number of threads shares without a rest.
  int64_t mostTaskRows = std::clamp<int64_t>(kSums / numCols, 1, kSide);
  int64_t numTasks = kTasks * llvm::divideCeil(numRows, kTasks * mostTaskRows);
  blocking.taskRows =
      std::max<int64_t>(llvm::divideCeil(numRows, numTasks), getEvenBlock(numRows, mostRows));
  blocking.rows = getEvenBlock(blocking.taskRows, mostRows);
  return blocking;
}

UnitTask::UnitTask(OpBuilder &builder, Location loc, const OuterOperands &operands,
                   UnitBlocking blocking, Value row0, int64_t numRows)
    : loc(loc), operands(operands), blocking(blocking), row0(row0), numRows(numRows) {
  auto allocate = [&](ArrayRef<int64_t> shape) {
    return memref::AllocaOp::create(builder, loc, MemRefType::get(shape, operands.getElementType()),
                                    builder.getI64IntegerAttr(64));
  };
  sums = allocate({numRows, operands.getNumCols()});
  // Rows of neighbouring steps would share few sets of the first-level cache.
  if (numRows < operands.getNumRows() && numRows > 1)
    left = allocate({kSlabSteps, numRows});
}

void UnitTask::emit(OpBuilder &builder) {
  emitFor(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, numRows), 1,
          [&](OpBuilder &nested, Value row) {
            emitZeroRows(nested, loc, {sums, {row}}, operands.getNumCols());
          });
  emitSlabs(builder, loc, operands.lhs,
            [&](OpBuilder &inSlab, const Slab &slab) { emitSlab(inSlab, slab); });
  emitStore(builder);
}

void UnitTask::emitCopyLeft(OpBuilder &builder, const Slab &slab) const {
  emitFor(builder, loc, slab.first, slab.last, 1, [&](OpBuilder &nested, Value step) {
    Rows from = {operands.lhs, {slab.block, step}};
    Value slabStep = arith::SubIOp::create(nested, loc, step, slab.first);
    Rows to = {left, {slabStep}};
    emitTiles(nested, loc, to, 0, numRows, [&](OpBuilder &inside, const Tile &tile) {
      Value row = arith::AddIOp::create(inside, loc, row0, tile.first);
      to.store(inside, loc, from.load(inside, loc, Tile{row, tile.width}), tile.first);
    });
  });
}

void UnitTask::emitSlab(OpBuilder &builder, const Slab &slab) const {
  if (left)
    emitCopyLeft(builder, slab);
  emitBlocks(builder, loc, operands.getNumCols(), blocking.taskCols,
             [&](OpBuilder &inCols, Value taskCol, int64_t taskCols) {
               emitBlocks(inCols, loc, numRows, blocking.rows,
                          [&](OpBuilder &inRows, Value row, int64_t rows) {
                            emitBlocks(inRows, loc, taskCols, blocking.cols,
                                       [&](OpBuilder &nested, Value blockCol, int64_t cols) {
                                         Value col =
                                             arith::AddIOp::create(nested, loc, taskCol, blockCol);
                                         emitProducts(nested, slab, row, rows, col, cols);
                                       });
                          });
             });
}

/// Adds to `sums[row + i, col...]` the products of row `row + i` of the task with `cols` rows of
/// the right operand in a slab.
void UnitTask::emitProducts(OpBuilder &builder, const Slab &slab, Value row, int64_t rows,
                            Value col, int64_t cols) const {
  SmallVector<Tile> columns, tiles;
  SmallVector<Rows> homes;
  for (int64_t i = 0; i < rows; ++i) {
    Rows home = {sums, {addIndex(builder, loc, row, i)}};
    columns = getTiles(builder, loc, home, col, cols);
    homes.append(columns.size(), home);
    llvm::append_range(tiles, columns);
  }
  emitSlabSums(
      builder, loc, slab, homes, tiles, [&](OpBuilder &nested, Value step, ValueRange carried) {
        Rows entries = {operands.lhs, {slab.block, step}},
             right = {operands.rhs, {slab.block, step}};
        Value first = left ? row : arith::AddIOp::create(nested, loc, row0, row).getResult();
        if (left)
          entries = {left, {arith::SubIOp::create(nested, loc, step, slab.first).getResult()}};
        SmallVector<Value> vectors, next;
        for (const Tile &tile : columns)
          vectors.push_back(right.load(nested, loc, tile));
        for (int64_t i = 0; i < rows; ++i) {
          Value entry = entries.loadEntry(nested, loc, addIndex(nested, loc, first, i));
          for (Value vector : vectors) {
            Value factor = vector::BroadcastOp::create(nested, loc, vector.getType(), entry);
            next.push_back(
                vector::FMAOp::create(nested, loc, factor, vector, carried[next.size()]));
          }
        }
        return next;
      });
}

void UnitTask::emitStore(OpBuilder &builder) const {
  int64_t numCols = operands.getNumCols();
  Value zero = getIndex(builder, loc, 0);
  emitFor(
      builder, loc, zero, getIndex(builder, loc, numRows), 1, [&](OpBuilder &inRow, Value from) {
        Value row = arith::AddIOp::create(inRow, loc, row0, from);
        if (!operands.areSwapped)
          return emitCopy(inRow, loc, {sums, {from}}, {operands.destination, {row}}, numCols);
        emitFor(
            inRow, loc, zero, getIndex(inRow, loc, numCols), 1, [&](OpBuilder &nested, Value col) {
              Value sum = memref::LoadOp::create(nested, loc, sums, ValueRange{from, col});
              memref::StoreOp::create(nested, loc, sum, operands.destination, ValueRange{col, row});
            });
      });
}

void bppsa::lowerUnitOuterSum(OuterSumOp op, const LaneOptions &options) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  OuterOperands operands = {op.getLhs(), op.getRhs(), op.getDestination(), false};
  // Vectors hold entries of the wider operand, where the other would not fill one.
  if (operands.getNumCols() < std::min(kTileUnits, operands.getNumRows()))
    operands = {op.getRhs(), op.getLhs(), op.getDestination(), true};
  UnitBlocking blocking = UnitBlocking::get(operands, options);
  emitParallelRows(builder, loc, operands.getNumRows(), blocking.taskRows,
                   [&](OpBuilder &nested, Value row0, int64_t rows) {
                     UnitTask(nested, loc, operands, blocking, row0, rows).emit(nested);
                   });
}
