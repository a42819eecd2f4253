//===- ColumnTileLoop.cpp - a block runs a column tile of a map ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ColumnTileLoop.h"
#include "../../GPULaunches/LinkSteps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

ColumnTileLoop::ColumnTileLoop(const CotangentLoop &loop, std::unique_ptr<Region> link,
                               ColumnTilePlan plan, StepRing ring, TensorTile tile)
    : loop(loop), loc(loop.op->getLoc()), region(std::move(link)), plan(std::move(plan)),
      ring(std::move(ring)), tile(tile) {}

FailureOr<ColumnTileLoop> ColumnTileLoop::create(const CotangentLoop &loop,
                                                 GPUMappingAttr mapping) {
  std::unique_ptr<Region> link = cloneLink(loop, {/*inject=*/false, /*emit=*/false});
  std::optional<ColumnTilePlan> plan = ColumnTilePlan::create(loop, link->front());
  if (!plan)
    return loop.op->emitOpError("cannot be mapped to 'column_tile', which needs vectors of f32 and "
                                "products of cotangents with captured matrices; use "
                                "block_per_column");
  plan->setMapping(mapping);
  StepRing ring(loop.op->getLoc(), loop.saved, mapping.getStages());
  TensorTile tile(loop.op->getLoc(), mapping.getPrecision());
  return ColumnTileLoop(loop, std::move(link), std::move(*plan), std::move(ring), tile);
}

Value ColumnTileLoop::getCapture(Value argument) const {
  unsigned first = region->front().getNumArguments() - loop.captures.size();
  return loop.captures[cast<BlockArgument>(argument).getArgNumber() - first];
}

void ColumnTileLoop::launch(OpBuilder &builder, Value numBlocks,
                            function_ref<void(OpBuilder &, const LaunchedThread &)> body) {
  SmallVector<MemRefType> types = ring.getSharedTypes();
  size_t numRings = types.size();
  for (Value value : plan.getShared())
    types.push_back(MemRefType::get(
        {ColumnTilePlan::getNumTiles(getNumRows(value)) * TensorTile::kRows, getNumColumns()},
        builder.getF32Type()));
  emitLaunch(builder, loc, numBlocks, plan.getNumWarps() * kWarpThreads, types,
             [&](OpBuilder &nested, const LaunchedThread &thread) {
               ownThread = thread;
               ringArrays = thread.shared.take_front(numRings);
               for (auto [value, array] :
                    llvm::zip_equal(plan.getShared(), thread.shared.drop_front(numRings)))
                 arrays[value] = array;
               Value threads = getIndex(nested, loc, kWarpThreads);
               warp = arith::DivUIOp::create(nested, loc, thread.thread, threads);
               tile.begin(nested, thread.thread);
               readMatrices(nested);
               body(nested, thread);
             });
}

void ColumnTileLoop::run(OpBuilder &builder, Value sample, Value first, Value last,
                         function_ref<Value(OpBuilder &, const Entry &)> start,
                         function_ref<void(OpBuilder &, const Entry &, Value)> finish) {
  Entries entries;
  forEntries(builder, [&](OpBuilder &nested, const Entry &entry, Value) {
    entries.push_back(start(nested, entry));
  });
  ring.begin(builder, ownThread, ringArrays, sample, first, last,
             [this](OpBuilder &nested, Value position) { return getStep(nested, loop, position); });
  entries = emitFold(builder, loc, first, last, entries,
                     [&](OpBuilder &nested, Value position, ValueRange before) {
                       Entries after = emitStep(nested, position, before);
                       ring.request(nested, position);
                       ring.wait(nested);
                       emitBarrier(nested, loc);
                       return after;
                     });
  size_t number = 0;
  forEntries(builder, [&](OpBuilder &nested, const Entry &entry, Value isOwned) {
    Value value = entries[number++];
    emitIf(nested, loc, isOwned, [&](OpBuilder &inside) { finish(inside, entry, value); });
  });
}

//===----------------------------------------------------------------------===//
// Places of the thread's entries
//===----------------------------------------------------------------------===//

/// Calls `visit(entry, isOwned)` with those of the states, in their order; a thread owns
/// an entry if its row exists, and it alone has it.
void ColumnTileLoop::forEntries(OpBuilder &builder,
                                function_ref<void(OpBuilder &, const Entry &, Value)> visit) {
  int64_t first = 0;
  for (size_t state = 0; state < loop.getNumStates(); ++state) {
    int64_t rows = loop.getStateSize(state);
    for (size_t i = 0; i < countEntries(rows); ++i) {
      Value row = getEntryRow(builder, i);
      visit(builder, {addIndex(builder, loc, row, first), getColumn(builder, i)},
            isBelow(builder, loc, row, getIndex(builder, loc, rows)));
    }
    first += rows;
  }
}

size_t ColumnTileLoop::countEntries(int64_t rows) const {
  return plan.getNumSlots(rows) * plan.getNumColumnTiles() * TensorTile::kEntries;
}

int64_t ColumnTileLoop::getSlot(size_t entry) const {
  return entry / (plan.getNumColumnTiles() * TensorTile::kEntries);
}

/// Row `inTile` of the tile of a slot, which a value may not have.
Value ColumnTileLoop::getTileRow(OpBuilder &builder, int64_t slot, Value inTile) const {
  Value number = addIndex(builder, loc, warp, slot * plan.getNumWarps());
  Value first = mulIndex(builder, loc, number, getIndex(builder, loc, TensorTile::kRows));
  return addIndex(builder, loc, first, inTile);
}

Value ColumnTileLoop::getEntryRow(OpBuilder &builder, size_t entry) const {
  return getTileRow(builder, getSlot(entry), tile.getRow(builder, entry % TensorTile::kEntries));
}

/// Rows that a value does not have are its last one again.
Value ColumnTileLoop::limitRow(OpBuilder &builder, Value row, int64_t rows) const {
  if (plan.getNumSlots(rows) * plan.getNumWarps() * TensorTile::kRows == rows)
    return row;
  return minIndex(builder, loc, row, getIndex(builder, loc, rows - 1));
}

Value ColumnTileLoop::getColumn(OpBuilder &builder, size_t entry) const {
  int64_t number = entry / TensorTile::kEntries % plan.getNumColumnTiles();
  Value inTile = tile.getColumn(builder, entry % TensorTile::kEntries);
  return addIndex(builder, loc, inTile, number * TensorTile::kColumns);
}

//===----------------------------------------------------------------------===//
// ColumnTiles in shared memory
//===----------------------------------------------------------------------===//

/// Four neighbouring rows are in different banks, in groups of eight: with two or four
/// tiles of columns, these change places.
SmallVector<Value> ColumnTileLoop::getSharedPlace(OpBuilder &builder, Value row,
                                                  Value column) const {
  int64_t numTiles = plan.getNumColumnTiles();
  if (numTiles % 2 != 0)
    return {row, column};
  auto constant = [&](int64_t value) { return getIndex(builder, loc, value); };
  Value group = row;
  if (numTiles == 2)
    group = arith::ShRUIOp::create(builder, loc, group, constant(1));
  group = arith::AndIOp::create(builder, loc, group, constant(numTiles - 1));
  Value moved = mulIndex(builder, loc, group, constant(TensorTile::kColumns));
  return {row, arith::XOrIOp::create(builder, loc, column, moved)};
}

/// Writes the entries of `value` to its array. Rows up to the end of the last tile are
/// zero, whatever is computed there: others are multiplied by them.
void ColumnTileLoop::share(OpBuilder &builder, Value value) {
  int64_t rows = getNumRows(value), stored = ColumnTilePlan::getNumTiles(rows) * TensorTile::kRows;
  Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  for (auto [i, columnTileEntry] : llvm::enumerate(columnTiles[value])) {
    Value entry = columnTileEntry, row = getEntryRow(builder, i), column = getColumn(builder, i);
    if (stored > rows) {
      Value exists = isBelow(builder, loc, row, getIndex(builder, loc, rows));
      entry = arith::SelectOp::create(builder, loc, exists, entry, zero);
    }
    auto store = [&](OpBuilder &nested) {
      memref::StoreOp::create(nested, loc, entry, arrays[value],
                              getSharedPlace(nested, row, column));
    };
    if ((getSlot(i) + 1) * plan.getNumWarps() * TensorTile::kRows <= stored)
      store(builder);
    else
      emitIf(builder, loc, isBelow(builder, loc, row, getIndex(builder, loc, stored)), store);
  }
}

/// Element (row, column) of an operand of a slice.
Value ColumnTileLoop::readElement(OpBuilder &builder, Value value, Value row, Value column) {
  if (!plan.isColumnTile(value))
    return emitRowAnew(builder, value, row);
  return memref::LoadOp::create(builder, loc, arrays[value], getSharedPlace(builder, row, column));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// A stage computes what it can of the column tiles that are in shared memory, and puts there
/// what the next one needs.
ColumnTileLoop::Entries ColumnTileLoop::emitStep(OpBuilder &builder, Value position,
                                                 ValueRange states) {
  Block &body = region->front();
  savedPlaces = ring.getPlaces(builder, position);
  columnTiles.clear();
  rowValues.clear();
  for (Value state : body.getArguments().slice(loop.saved.size(), loop.getNumStates())) {
    columnTiles[state] = llvm::to_vector(states.take_front(countEntries(getNumRows(state))));
    states = states.drop_front(countEntries(getNumRows(state)));
  }
  for (int64_t stage = 0, e = plan.getNumStages(); stage < e; ++stage) {
    if (stage > 0)
      emitBarrier(builder, loc);
    for (Operation &op : body.without_terminator())
      if (plan.isColumnTile(op.getResult(0)) && plan.getStage(op.getResult(0)) == stage)
        columnTiles.try_emplace(op.getResult(0), emitOp(builder, &op));
    for (Value value : plan.getShared())
      if (plan.getStage(value) == stage)
        share(builder, value);
  }
  Entries next;
  for (Value yielded : body.getTerminator()->getOperands())
    for (size_t i = 0; i < countEntries(getNumRows(yielded)); ++i)
      next.push_back(getEntry(builder, yielded, i));
  return next;
}

ColumnTileLoop::Entries ColumnTileLoop::emitOp(OpBuilder &builder, Operation *op) {
  if (auto product = dyn_cast<MatVecOp>(op))
    return emitProduct(builder, product);
  Entries entries;
  for (size_t i = 0; i < countEntries(getNumRows(op->getResult(0))); ++i)
    entries.push_back(emitEntry(builder, op, i));
  return entries;
}

Value ColumnTileLoop::emitEntry(OpBuilder &builder, Operation *op, size_t entry) {
  Value result = op->getResult(0);
  Value row = limitRow(builder, getEntryRow(builder, entry), getNumRows(result));
  auto readSame = [&](Value operand) { return getEntry(builder, operand, entry); };
  auto readOther = [&](Value operand, Value at) {
    return readElement(builder, operand, at, getColumn(builder, entry));
  };
  return cast<CellOpInterface>(op).emitRow(builder, getElementTypeOrSelf(result),
                                           {row, /*spansRows=*/false, readSame, readOther});
}

Value ColumnTileLoop::getEntry(OpBuilder &builder, Value value, size_t entry) {
  if (plan.isColumnTile(value))
    return columnTiles[value][entry];
  int64_t inTile = entry % TensorTile::kEntries / 2;
  std::pair<Value, int64_t> key = {value, 2 * getSlot(entry) + inTile};
  if (Value known = rowValues.lookup(key))
    return known;
  Value row = limitRow(builder, getEntryRow(builder, entry), getNumRows(value));
  Value result = emitRow(builder, value, row,
                         [&](Value operand) { return getEntry(builder, operand, entry); });
  rowValues[key] = result;
  return result;
}

/// Row `row` of a value that all columns share; `read` gives that of an operand.
Value ColumnTileLoop::emitRow(OpBuilder &builder, Value value, Value row,
                              function_ref<Value(Value operand)> read) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getArgNumber() < loop.saved.size())
      return savedPlaces[argument.getArgNumber()].load(builder, loc, row);
    return memref::LoadOp::create(builder, loc, getCapture(argument), row);
  }
  auto readOther = [&](Value operand, Value at) { return emitRowAnew(builder, operand, at); };
  return cast<CellOpInterface>(value.getDefiningOp())
      .emitRow(builder, getElementTypeOrSelf(value), {row, /*spansRows=*/false, read, readOther});
}

/// Such a row, which need not be one of the thread's.
Value ColumnTileLoop::emitRowAnew(OpBuilder &builder, Value value, Value row) {
  return emitRow(builder, value, row,
                 [&](Value operand) { return emitRowAnew(builder, operand, row); });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Columns beyond the last are that again: they are multiplied by rows of zeros.
TensorTile::Fragment ColumnTileLoop::readMatrix(OpBuilder &builder, MatVecOp product, int64_t slot,
                                                Value depth) const {
  int64_t rows = getNumRows(product.getResult()), columns = getNumRows(product.getVector());
  Value matrix = getCapture(product.getMatrix());
  return tile.readA(builder, [&](OpBuilder &nested, Value inTile, Value column) {
    Value row = limitRow(nested, getTileRow(nested, slot, inTile), rows);
    column = addIndex(nested, loc, depth, column);
    if (columns % tile.getDepth() != 0)
      column = minIndex(nested, loc, column, getIndex(nested, loc, columns - 1));
    if (product.getTransposed())
      std::swap(row, column);
    return memref::LoadOp::create(nested, loc, matrix, ValueRange{row, column}).getResult();
  });
}

int64_t ColumnTileLoop::countDepthTiles(MatVecOp product) const {
  return llvm::divideCeil(getNumRows(product.getVector()), tile.getDepth());
}

void ColumnTileLoop::readMatrices(OpBuilder &builder) {
  matrices.clear();
  if (!plan.keepsMatrices())
    return;
  for (auto product : region->front().getOps<MatVecOp>())
    for (int64_t slot = 0; slot < plan.getNumSlots(getNumRows(product.getResult())); ++slot)
      for (int64_t i = 0; i < countDepthTiles(product); ++i)
        matrices[product].push_back(
            readMatrix(builder, product, slot, getIndex(builder, loc, i * tile.getDepth())));
}

ColumnTileLoop::Entries ColumnTileLoop::emitProduct(OpBuilder &builder, MatVecOp product) {
  Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  Entries sums(countEntries(getNumRows(product.getResult())), zero);
  if (Value addend = product.getAddend())
    for (auto [i, sum] : llvm::enumerate(sums))
      sum = getEntry(builder, addend, i);
  int64_t count = countDepthTiles(product);
  auto getDepth = [&](OpBuilder &nested, Value number) {
    return mulIndex(nested, loc, number, getIndex(nested, loc, tile.getDepth()));
  };
  if (!plan.keepsMatrices())
    return emitFold(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, count), sums,
                    [&](OpBuilder &nested, Value number, ValueRange before) {
                      Value depth = getDepth(nested, number);
                      return addTiles(nested, product, depth, before, [&](int64_t slot) {
                        return readMatrix(nested, product, slot, depth);
                      });
                    });
  for (int64_t i = 0; i < count; ++i)
    sums = addTiles(builder, product, getDepth(builder, getIndex(builder, loc, i)), sums,
                    [&](int64_t slot) { return matrices[product][slot * count + i]; });
  return sums;
}

/// Adds the products of columns `depth` and the following of the matrix.
ColumnTileLoop::Entries
ColumnTileLoop::addTiles(OpBuilder &builder, MatVecOp product, Value depth, ValueRange sums,
                         function_ref<TensorTile::Fragment(int64_t slot)> getMatrix) {
  Value array = arrays[product.getVector()];
  SmallVector<TensorTile::Fragment> factors;
  for (int64_t i = 0; i < plan.getNumColumnTiles(); ++i)
    factors.push_back(tile.readB(builder, [&](OpBuilder &nested, Value row, Value column) {
      column = addIndex(nested, loc, column, i * TensorTile::kColumns);
      SmallVector<Value> at = getSharedPlace(nested, addIndex(nested, loc, depth, row), column);
      return memref::LoadOp::create(nested, loc, array, at).getResult();
    }));
  Entries next;
  for (int64_t slot = 0; !sums.empty(); ++slot) {
    TensorTile::Fragment matrix = getMatrix(slot);
    for (const TensorTile::Fragment &factor : factors) {
      next.append(tile.multiply(builder, matrix, factor, sums.take_front(TensorTile::kEntries)));
      sums = sums.drop_front(TensorTile::kEntries);
    }
  }
  return next;
}
