//===- LowerUnitSums.cpp - outer sums with units in lanes -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Sums in the order of LowerSums.cpp, but vectors hold neighbouring result entries instead of
// lanes.
//
//===----------------------------------------------------------------------===//

#include "SumBlocks.h"
#include "bppsa/Support/RuntimeCalls.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// Block size, minimum rows per thread, and columns for which all rows of a part read the same
/// steps.
struct UnitBlocking {
  int64_t rows, cols, partRows, partCols;

  static UnitBlocking get(const OuterOperands &operands, const LaneOptions &options);
};

/// Up to `most` parts of `numRows` result rows (columns if swapped) that use each slab while it is
/// cached.
class UnitTask {
public:
  UnitTask(OpBuilder &builder, Location loc, const OuterOperands &operands, UnitBlocking blocking,
           int64_t numRows, int64_t most);

  void emit(OpBuilder &builder, Value first, Value end);

private:
  void emitCopyLeft(OpBuilder &builder, const LaneSlab &slab, Value part) const;
  void emitSlab(OpBuilder &builder, const LaneSlab &slab, Value part) const;
  void emitProducts(OpBuilder &builder, const LaneSlab &slab, Value part, Value row, int64_t rows,
                    Value col, int64_t cols) const;
  void emitStore(OpBuilder &builder, Value end) const;

  Location loc;
  OuterOperands operands;
  UnitBlocking blocking;
  int64_t numRows;
  Value first;
  /// Running sums `[row, column]`.
  Value sums;
  /// Contiguous `[step, row]` copy for a part, or null.
  Value left;
};
} // namespace

UnitBlocking UnitBlocking::get(const OuterOperands &operands, const LaneOptions &options) {
  // The steps of a slab stay in L1, the sums in L2.
  constexpr int64_t kSide = 128, kSums = 32768, kParts = 4;
  int64_t numRows = operands.getNumRows(), numCols = operands.getNumCols();
  int64_t budget = options.getNumAccumulators();
  int64_t numTiles = llvm::divideCeil(numCols, kTileUnits);
  // The columns are in registers next to the sums.
  int64_t blockTiles = getEvenBlock(numTiles, options.hasFewRegisters() ? 1 : 4);
  int64_t maxRows = std::max<int64_t>(1, budget / blockTiles);
  UnitBlocking blocking;
  blocking.cols = std::min(numCols, blockTiles * kTileUnits);
  blocking.partCols = numCols;
  if (numCols > 3 * kSide / 2)
    blocking.partCols = llvm::alignTo(getEvenBlock(numCols, kSide), blocking.cols);
  // Tasks are equal, and their number is a multiple of kParts for even thread counts.
  int64_t maxPartRows = std::clamp<int64_t>(kSums / numCols, 1, kSide);
  int64_t numParts = kParts * llvm::divideCeil(numRows, kParts * maxPartRows);
  blocking.partRows =
      std::max<int64_t>(llvm::divideCeil(numRows, numParts), getEvenBlock(numRows, maxRows));
  blocking.rows = getEvenBlock(blocking.partRows, maxRows);
  return blocking;
}

UnitTask::UnitTask(OpBuilder &builder, Location loc, const OuterOperands &operands,
                   UnitBlocking blocking, int64_t numRows, int64_t most)
    : loc(loc), operands(operands), blocking(blocking), numRows(numRows) {
  auto allocate = [&](ArrayRef<int64_t> shape) {
    return memref::AllocaOp::create(builder, loc, MemRefType::get(shape, operands.getElementType()),
                                    builder.getI64IntegerAttr(64));
  };
  sums = allocate({most * numRows, operands.getNumCols()});
  // Rows of neighbouring steps would map to few L1 sets.
  if (numRows < operands.getNumRows() && numRows > 1)
    left = allocate({kSlabSteps, numRows});
}

void UnitTask::emit(OpBuilder &builder, Value firstRow, Value end) {
  first = firstRow;
  emitFor(builder, loc, getIndex(builder, loc, 0), arith::SubIOp::create(builder, loc, end, first),
          1, [&](OpBuilder &nested, Value row) {
            emitZeroRows(nested, loc, {sums, {row}}, operands.getNumCols());
          });
  emitSlabs(builder, loc, operands.lhs, [&](OpBuilder &inSlab, const LaneSlab &slab) {
    emitFor(inSlab, loc, first, end, numRows,
            [&](OpBuilder &nested, Value part) { emitSlab(nested, slab, part); });
  });
  emitStore(builder, end);
}

void UnitTask::emitCopyLeft(OpBuilder &builder, const LaneSlab &slab, Value part) const {
  emitFor(builder, loc, slab.first, slab.last, 1, [&](OpBuilder &nested, Value step) {
    Rows from = {operands.lhs, {slab.block, step}};
    Value slabStep = arith::SubIOp::create(nested, loc, step, slab.first);
    Rows to = {left, {slabStep}};
    emitTiles(nested, loc, to, 0, numRows, [&](OpBuilder &inside, const Tile &tile) {
      Value row = arith::AddIOp::create(inside, loc, part, tile.first);
      to.store(inside, loc, from.load(inside, loc, Tile{row, tile.width}), tile.first);
    });
  });
}

void UnitTask::emitSlab(OpBuilder &builder, const LaneSlab &slab, Value part) const {
  if (left)
    emitCopyLeft(builder, slab, part);
  emitBlocks(builder, loc, operands.getNumCols(), blocking.partCols,
             [&](OpBuilder &inCols, Value partCol, int64_t partCols) {
               emitBlocks(inCols, loc, numRows, blocking.rows,
                          [&](OpBuilder &inRows, Value row, int64_t rows) {
                            emitBlocks(inRows, loc, partCols, blocking.cols,
                                       [&](OpBuilder &nested, Value blockCol, int64_t cols) {
                                         Value col =
                                             arith::AddIOp::create(nested, loc, partCol, blockCol);
                                         emitProducts(nested, slab, part, row, rows, col, cols);
                                       });
                          });
             });
}

/// Multiplies rows [row, row + rows) of a part by `cols` right rows.
void UnitTask::emitProducts(OpBuilder &builder, const LaneSlab &slab, Value part, Value row,
                            int64_t rows, Value col, int64_t cols) const {
  Value sequenceRow = arith::AddIOp::create(builder, loc, part, row);
  Value sumRow = arith::SubIOp::create(builder, loc, sequenceRow, first);
  SmallVector<Tile> columns, tiles;
  SmallVector<Rows> homes;
  for (int64_t i = 0; i < rows; ++i) {
    Rows home = {sums, {addIndex(builder, loc, sumRow, i)}};
    columns = getTiles(builder, loc, home, col, cols);
    homes.append(columns.size(), home);
    llvm::append_range(tiles, columns);
  }
  emitSlabSums(
      builder, loc, slab, homes, tiles, [&](OpBuilder &nested, Value step, ValueRange carried) {
        Rows entries = {operands.lhs, {slab.block, step}},
             right = {operands.rhs, {slab.block, step}};
        Value entry0 = left ? row : sequenceRow;
        if (left)
          entries = {left, {arith::SubIOp::create(nested, loc, step, slab.first).getResult()}};
        SmallVector<Value> vectors, next;
        for (const Tile &tile : columns)
          vectors.push_back(right.load(nested, loc, tile));
        for (int64_t i = 0; i < rows; ++i) {
          Value entry = entries.loadEntry(nested, loc, addIndex(nested, loc, entry0, i));
          for (Value vector : vectors) {
            Value factor = vector::BroadcastOp::create(nested, loc, vector.getType(), entry);
            next.push_back(
                vector::FMAOp::create(nested, loc, factor, vector, carried[next.size()]));
          }
        }
        return next;
      });
}

void UnitTask::emitStore(OpBuilder &builder, Value end) const {
  int64_t numCols = operands.getNumCols();
  Value zero = getIndex(builder, loc, 0);
  emitFor(builder, loc, first, end, 1, [&](OpBuilder &inRow, Value row) {
    Value from = arith::SubIOp::create(inRow, loc, row, first);
    if (!operands.areSwapped)
      return emitCopy(inRow, loc, {sums, {from}}, {operands.destination, {row}}, numCols);
    emitFor(inRow, loc, zero, getIndex(inRow, loc, numCols), 1, [&](OpBuilder &nested, Value col) {
      Value sum = memref::LoadOp::create(nested, loc, sums, ValueRange{from, col});
      memref::StoreOp::create(nested, loc, sum, operands.destination, ValueRange{col, row});
    });
  });
}

/// `numRows` are whole parts. A task has as many as keep all threads busy and fit into L2.
static void emitTasks(OpBuilder &builder, OuterSumOp op, const OuterOperands &operands,
                      const UnitBlocking &blocking, int64_t numRows) {
  constexpr int64_t kMaxSums = 65536;
  Location loc = op.getLoc();
  int64_t numParts = numRows / blocking.partRows;
  int64_t most =
      std::clamp<int64_t>(kMaxSums / (blocking.partRows * operands.getNumCols()), 1, numParts);
  Value end = getIndex(builder, loc, numRows), rows = getIndex(builder, loc, blocking.partRows);
  if (most > 1)
    rows = arith::MulIOp::create(builder, loc, rows,
                                 emitTaskSize(builder, loc, op->getParentOfType<ModuleOp>(),
                                              getIndex(builder, loc, numParts), most));
  Value numTasks = builder.createOrFold<arith::CeilDivUIOp>(loc, end, rows);
  emitParallel(builder, loc, numTasks, [&](OpBuilder &nested, Value task) {
    Value first = arith::MulIOp::create(nested, loc, task, rows);
    Value next = arith::AddIOp::create(nested, loc, first, rows);
    UnitTask(nested, loc, operands, blocking, blocking.partRows, most)
        .emit(nested, first, arith::MinUIOp::create(nested, loc, next, end));
  });
}

void bppsa::lowerUnitOuterSum(OuterSumOp op, const LaneOptions &options) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  OuterOperands operands = {op.getLhs(), op.getRhs(), op.getDestination(), false};
  // Vectors hold the wider operand if the other would not fill one.
  if (operands.getNumCols() < std::min(kTileUnits, operands.getNumRows()))
    operands = {op.getRhs(), op.getLhs(), op.getDestination(), true};
  UnitBlocking blocking = UnitBlocking::get(operands, options);
  int64_t numRows = operands.getNumRows(), rest = numRows % blocking.partRows;
  if (numRows > rest)
    emitTasks(builder, op, operands, blocking, numRows - rest);
  if (rest > 0)
    emitParallel(builder, loc, getIndex(builder, loc, 1), [&](OpBuilder &nested, Value) {
      UnitTask(nested, loc, operands, blocking, rest, /*most=*/1)
          .emit(nested, getIndex(nested, loc, numRows - rest), getIndex(nested, loc, numRows));
    });
}
