//===- ColumnLoop.cpp - few threads run a column of a map ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ColumnLoop.h"
#include "../../GPULaunches/LinkSteps.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

FailureOr<ColumnLoop> ColumnLoop::create(const CotangentLoop &loop, GPUMappingAttr mapping) {
  std::unique_ptr<Region> link = cloneLink(loop, {/*inject=*/false, /*emit=*/false});
  std::string obstacle = findObstacleToThreads(loop, link->front(), mapping.getParts());
  if (!obstacle.empty())
    return loop.op->emitOpError("cannot be mapped to 'thread_per_column', which needs ")
           << obstacle << "; use block_per_column";
  return ColumnLoop(loop, std::move(link), mapping);
}

ColumnLoop::ColumnLoop(const CotangentLoop &loop, std::unique_ptr<Region> link,
                       GPUMappingAttr mapping)
    : loop(loop), loc(loop.op->getLoc()), region(std::move(link)),
      factors(getFactors(region->front())), parts(mapping.getParts()),
      inRegisters(mapping.keepsMatricesInRegisters()) {
  SmallVector<Value> sources;
  for (auto [number, saved] : llvm::enumerate(loop.saved))
    if (!region->front().getArgument(number).use_empty()) {
      readSaved.push_back(number);
      sources.push_back(saved);
    }
  if (parts > 1) {
    llvm::SetVector<Value> vectors;
    for (auto product : region->front().getOps<MatVecOp>())
      vectors.insert(product.getVector());
    for (Value vector : vectors)
      exchanges.push_back({vector, Value()});
  }
  if (mapping.getStages() > 0 && !sources.empty())
    ring.emplace(loc, sources, mapping.getStages(), loop.getTotalSize(), getColumnsOfWarp(), parts);
}

size_t ColumnLoop::getFactor(MatVecOp product) const {
  return llvm::find_if(factors,
                       [&](const LinkFactor &factor) {
                         return factor.matrix == product.getMatrix() &&
                                factor.isTransposed == product.getTransposed();
                       }) -
         factors.begin();
}

Value ColumnLoop::getCapture(BlockArgument argument) const {
  unsigned first = region->front().getNumArguments() - loop.captures.size();
  return loop.captures[argument.getArgNumber() - first];
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

SmallVector<MemRefType> ColumnLoop::getSharedTypes() const {
  SmallVector<MemRefType> types;
  auto add = [&](int64_t count, int64_t rows, Type vector) {
    int64_t stride = llvm::alignTo(rows, std::max(parts, kLoadedTogether));
    types.push_back(MemRefType::get({count, stride}, cast<VectorType>(vector).getElementType()));
  };
  if (!inRegisters)
    for (const LinkFactor &factor : factors)
      add(factor.numColumns, factor.numRows, factor.matrix.getType());
  for (const Exchange &exchange : exchanges)
    add(getColumnsOfWarp(), getNumRows(exchange.vector), exchange.vector.getType());
  if (ring)
    llvm::append_range(types, ring->getSharedTypes());
  return types;
}

static Value loadFactor(OpBuilder &builder, Location loc, Value matrix, bool isTransposed,
                        Value row, int64_t column) {
  SmallVector<Value> at = {row, getIndex(builder, loc, column)};
  if (isTransposed)
    std::swap(at[0], at[1]);
  return memref::LoadOp::create(builder, loc, matrix, at);
}

/// Of columns that are not shared: a thread copies a row of each factor, by loads that do not wait
/// for each other.
void ColumnLoop::copyFactors(OpBuilder &builder) {
  copies = llvm::to_vector_of<Value>(ownThread.shared.take_front(factors.size()));
  for (auto [factor, copy] : llvm::zip_equal(factors, copies)) {
    Value matrix = getCapture(factor.matrix), target = copy;
    bool isTransposed = factor.isTransposed;
    int64_t numColumns = factor.numColumns;
    emitRows(builder, loc, ownThread, factor.numRows, [&](OpBuilder &nested, Value row) {
      for (int64_t i = 0; i < numColumns; ++i) {
        Value entry = loadFactor(nested, loc, matrix, isTransposed, row, i);
        memref::StoreOp::create(nested, loc, entry, target,
                                ValueRange{getIndex(nested, loc, i), row});
      }
    });
  }
  emitBarrier(builder, loc);
}

/// The thread's rows of each factor, for all steps: loads that do not wait for each other.
void ColumnLoop::loadFactors(OpBuilder &builder) {
  entries.assign(factors.size(), {});
  for (auto [factor, own] : llvm::zip_equal(factors, entries))
    for (int64_t i = 0; i < factor.numColumns; ++i)
      for (int64_t slot = 0; slot < layout(factor.numRows).getNumSlots(); ++slot)
        own.push_back(loadFactor(builder, loc, getCapture(factor.matrix), factor.isTransposed,
                                 getRow(builder, factor.numRows, slot), i));
}

SmallVector<BlockCyclicLayout::Element> ColumnLoop::getRows(OpBuilder &builder) const {
  SmallVector<BlockCyclicLayout::Element> rows;
  int64_t first = 0;
  for (size_t i = 0; i < loop.getNumStates(); first += loop.getStateSize(i++))
    for (int64_t slot = 0, e = layout(loop.getStateSize(i)).getNumSlots(); slot < e; ++slot) {
      BlockCyclicLayout::Element row =
          layout(loop.getStateSize(i)).getElement(builder, loc, part, slot);
      rows.push_back({addIndex(builder, loc, row.index, first), row.exists});
    }
  return rows;
}

/// The sum of each row is one chain of additions, in the order of columns; rows are
/// independent of each other.
ColumnLoop::Rows ColumnLoop::emitProduct(OpBuilder &builder, MatVecOp product,
                                         const RowsOfValues &rows) {
  Type element = cast<VectorType>(product.getType()).getElementType();
  Rows sums;
  if (product.getAddend())
    sums = rows.lookup(product.getAddend());
  else
    sums.assign(layout(getNumRows(product.getResult())).getNumSlots(),
                arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element)));
  size_t factor = getFactor(product);
  for (int64_t i = 0, e = getNumRows(product.getVector()); i < e; ++i) {
    Value value = loadFactorOf(builder, product, i, rows);
    for (auto [slot, sum] : llvm::enumerate(sums)) {
      Value entry = loadEntry(builder, factor, i, slot);
      sum = math::FmaOp::create(builder, loc, entry, value, sum);
    }
  }
  return sums;
}

/// Element `column` of what `product` multiplies.
Value ColumnLoop::loadFactorOf(OpBuilder &builder, MatVecOp product, int64_t column,
                               const RowsOfValues &rows) {
  Value vector = product.getVector();
  if (parts == 1)
    return rows.lookup(vector)[column];
  auto exchange = llvm::find_if(exchanges, [&](const Exchange &e) { return e.vector == vector; });
  return memref::LoadOp::create(builder, loc, exchange->array,
                                ValueRange{columnOfWarp, getIndex(builder, loc, column)});
}

Value ColumnLoop::loadEntry(OpBuilder &builder, size_t factor, int64_t column, int64_t slot) {
  if (inRegisters)
    return entries[factor][column * layout(factors[factor].numRows).getNumSlots() + slot];
  return memref::LoadOp::create(
      builder, loc, copies[factor],
      ValueRange{getIndex(builder, loc, column), getIndex(builder, loc, slot)});
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void ColumnLoop::launch(OpBuilder &builder, Value count,
                        function_ref<void(OpBuilder &, Value, Value)> body) {
  Value size = getIndex(builder, loc, getColumnsOfWarp());
  Value numBlocks = arith::CeilDivUIOp::create(builder, loc, count, size);
  Value last = addIndex(builder, loc, count, -1);
  emitLaunch(builder, loc, numBlocks, kWarpThreads, getSharedTypes(),
             [&](OpBuilder &nested, const LaunchedThread &thread) {
               begin(nested, thread);
               Value number =
                   addIndex(nested, loc, mulIndex(nested, loc, thread.block, size), columnOfWarp);
               body(nested, minIndex(nested, loc, number, last),
                    isBelow(nested, loc, number, count));
             });
}

void ColumnLoop::begin(OpBuilder &builder, const LaunchedThread &thread) {
  ownThread = thread;
  SmallVector<Value> digits = {thread.thread, getIndex(builder, loc, 0)};
  if (parts > 1)
    digits = splitIndex(builder, loc, thread.thread, {Value(), getIndex(builder, loc, parts)});
  columnOfWarp = digits[0];
  part = digits[1];
  ValueRange shared = thread.shared;
  if (inRegisters) {
    loadFactors(builder);
  } else {
    copyFactors(builder);
    shared = shared.drop_front(factors.size());
  }
  for (auto [exchange, array] : llvm::zip(exchanges, shared))
    exchange.array = array;
  sharedOfRing = shared.drop_front(exchanges.size());
}

SmallVector<Value> ColumnLoop::run(OpBuilder &builder, const ColumnRuns &runs, Value number,
                                   ValueRange start) {
  Value numColumns = getIndex(builder, loc, runs.numColumns);
  Value run = arith::DivUIOp::create(builder, loc, number, numColumns);
  auto [sample, first] = runs.at(builder, run);
  Value runOfWarp;
  SmallVector<Value> carried(start);
  if (ring) {
    llvm::append_range(carried, ring->begin(builder, ownThread, sharedOfRing, runs));
    runOfWarp = ring->getRunOfWarp(builder, run);
  }
  auto body = [&, sample = sample, first = first](OpBuilder &nested, Value link,
                                                  ValueRange values) {
    // Makes copies of other threads visible. And nothing writes those of matrices any more,
    // so LLVM would take the loads of their entries out of the loop, to more registers than
    // there are.
    emitWarpBarrier(nested, loc);
    Value step = runs.stepAt(nested, addIndex(nested, loc, first, link));
    Rows next = emitStep(
        nested,
        [&](size_t saved, int64_t numRows, int64_t slot) -> Value {
          size_t source = llvm::find(readSaved, saved) - readSaved.begin();
          if (ring)
            return ring->load(nested, source, link, runOfWarp,
                              layout(numRows).getPlace(nested, loc, part, slot));
          return Place{loop.saved[saved], {step, sample}}.load(nested, loc,
                                                               getRow(nested, numRows, slot));
        },
        values.take_front(start.size()));
    if (ring)
      llvm::append_range(next, ring->advance(nested, link, values.drop_front(start.size())));
    return next;
  };
  SmallVector<Value> end =
      emitFold(builder, loc, getIndex(builder, loc, 0), runs.length, carried, body);
  end.truncate(start.size());
  return end;
}

ColumnLoop::RowsOfValues ColumnLoop::loadArguments(OpBuilder &builder, LoadSaved loadSaved,
                                                   ValueRange column) {
  RowsOfValues rows;
  Block &body = region->front();
  auto load = [&](BlockArgument argument, function_ref<Value(int64_t, int64_t)> loadRow) {
    if (argument.use_empty() || cast<VectorType>(argument.getType()).getRank() != 1)
      return;
    int64_t numRows = getNumRows(argument);
    for (int64_t slot = 0, e = layout(numRows).getNumSlots(); slot < e; ++slot)
      rows[argument].push_back(loadRow(numRows, slot));
  };
  unsigned number = 0;
  for (size_t saved = 0; saved < loop.saved.size(); ++saved)
    load(body.getArgument(number++),
         [&](int64_t numRows, int64_t slot) { return loadSaved(saved, numRows, slot); });
  for (size_t i = 0; i < loop.getNumStates(); ++i) {
    int64_t size = layout(loop.getStateSize(i)).getNumSlots();
    rows[body.getArgument(number++)] = llvm::to_vector(column.take_front(size));
    column = column.drop_front(size);
  }
  for (Value capture : loop.captures)
    load(body.getArgument(number++), [&, capture = capture](int64_t numRows, int64_t slot) {
      return Place{capture, {}}.load(builder, loc, getRow(builder, numRows, slot));
    });
  return rows;
}

/// Operations run in their order, but those that can before a product that has to wait for
/// other threads: then vectors of several products are handed over at a time.
ColumnLoop::Rows ColumnLoop::emitStep(OpBuilder &builder, LoadSaved loadSaved, ValueRange column) {
  Block &body = region->front();
  RowsOfValues rows = loadArguments(builder, loadSaved, column);
  exchanged.clear();
  for (bool isComplete = false; !isComplete;) {
    isComplete = true;
    for (Operation &op : body.without_terminator()) {
      if (rows.contains(op.getResult(0)))
        continue;
      if (isReady(&op, rows))
        rows.try_emplace(op.getResult(0), emitOp(builder, &op, rows));
      else
        isComplete = false;
    }
    if (!isComplete)
      exchange(builder, rows);
  }
  Rows next;
  for (Value yielded : body.getTerminator()->getOperands())
    next.append(rows.lookup(yielded));
  return next;
}

bool ColumnLoop::isReady(Operation *op, const RowsOfValues &rows) const {
  auto product = dyn_cast<MatVecOp>(op);
  if (product && parts > 1 && !exchanged.contains(product.getVector()))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return rows.contains(operand) || cast<VectorType>(operand.getType()).getRank() != 1;
  });
}

/// Hands over what is known of the vectors that are multiplied as a whole. Each has an array of
/// its own, which is read before the next step begins.
void ColumnLoop::exchange(OpBuilder &builder, const RowsOfValues &rows) {
  for (const Exchange &exchange : exchanges)
    if (auto own = rows.find(exchange.vector);
        own != rows.end() && exchanged.insert(exchange.vector).second)
      for (auto [slot, value] : llvm::enumerate(own->second))
        memref::StoreOp::create(
            builder, loc, value, exchange.array,
            ValueRange{columnOfWarp,
                       layout(getNumRows(exchange.vector)).getPlace(builder, loc, part, slot)});
  emitWarpBarrier(builder, loc);
}

ColumnLoop::Rows ColumnLoop::emitOp(OpBuilder &builder, Operation *op, const RowsOfValues &rows) {
  int64_t numRows = getNumRows(op->getResult(0)), numSlots = layout(numRows).getNumSlots();
  if (auto product = dyn_cast<MatVecOp>(op))
    return emitProduct(builder, product, rows);
  // A thread that takes other rows has all of them, and their numbers are constants.
  auto readOther = [&](Value operand, Value row) {
    return rows.lookup(operand)[*getConstantIntValue(row)];
  };
  bool isRowWise = cast<CellOpInterface>(op).isRowWise();
  Rows result;
  for (int64_t slot = 0; slot < numSlots; ++slot) {
    auto readSame = [&](Value operand) { return rows.lookup(operand)[slot]; };
    Value row = !isRowWise                  ? getIndex(builder, loc, slot)
                : op->getNumOperands() == 0 ? getRow(builder, numRows, slot)
                                            : Value();
    result.push_back(
        cast<CellOpInterface>(op).emitRow(builder, getElementTypeOrSelf(op->getResult(0)),
                                          {row, /*spansRows=*/false, readSame, readOther}));
  }
  return result;
}
