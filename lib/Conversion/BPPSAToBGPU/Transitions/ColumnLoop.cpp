//===- ColumnLoop.cpp - few threads run a column of a map ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ColumnLoop.h"
#include "../../GPULaunches/LinkSteps.h"
#include "../ThreadNumbers.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

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
  if (parts > 1)
    for (auto product : region->front().getOps<MatVecOp>())
      exchanges[product.getVector()] = Value();
  if (mapping.getStages() > 0 && !sources.empty())
    ring.emplace(loc, sources, mapping.getStages(), loop.getTotalSize(), getColumnsOfWarp(), parts);
  planSteps();
}

/// Operations run in their order, but those that can before a product that has to wait for
/// other threads: then vectors of several products are handed over at a time.
void ColumnLoop::planSteps() {
  Block &body = region->front();
  DenseSet<Value> known(body.getArguments().begin(), body.getArguments().end()), exchanged;
  for (bool isComplete = false; !isComplete;) {
    isComplete = true;
    StepPart &next = step.emplace_back();
    for (Operation &op : body.without_terminator()) {
      if (known.contains(op.getResult(0)))
        continue;
      auto product = dyn_cast<MatVecOp>(op);
      bool waits = product && parts > 1 && !exchanged.contains(product.getVector());
      if (waits || !llvm::all_of(op.getOperands(), [&](Value v) { return known.contains(v); })) {
        isComplete = false;
        continue;
      }
      next.ops.push_back(&op);
      known.insert(op.getResult(0));
    }
    for (auto &[vector, array] : exchanges)
      if (!isComplete && known.contains(vector) && exchanged.insert(vector).second)
        next.exchanged.push_back(vector);
  }
  findHandedOn();
}

/// The vectors that an operation reads the thread's own rows of.
static SmallVector<Value> getOwnOperands(Operation *op, bool isExchanged) {
  auto product = dyn_cast<MatVecOp>(op);
  SmallVector<Value> own;
  for (Value operand : op->getOperands())
    if (cast<VectorType>(operand.getType()).getRank() == 1 &&
        !(product && isExchanged && operand == product.getVector()))
      own.push_back(operand);
  return own;
}

void ColumnLoop::findHandedOn() {
  DenseSet<Value> later;
  for (Value yielded : region->front().getTerminator()->getOperands())
    later.insert(yielded);
  for (StepPart &ofStep : llvm::reverse(step)) {
    bool isFirst = &ofStep == &step.front(), isLast = &ofStep == &step.back();
    auto isMade = [&](Value value) {
      return isa<BlockArgument>(value) ? isFirst
                                       : llvm::is_contained(ofStep.ops, value.getDefiningOp());
    };
    // In the order of the body, whatever that of the set is.
    auto handOn = [&](Value value) {
      if (!isLast && later.contains(value) && isMade(value))
        ofStep.handedOn.push_back(value);
    };
    llvm::for_each(region->front().getArguments(), handOn);
    for (Operation *op : ofStep.ops)
      handOn(op->getResult(0));
    for (Operation *op : ofStep.ops)
      for (Value operand : getOwnOperands(op, parts > 1))
        later.insert(operand);
    later.insert(ofStep.exchanged.begin(), ofStep.exchanged.end());
  }
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
  return arrays.lookup(loop.captures[argument.getArgNumber() - first]);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void ColumnLoop::emitKernel(OpBuilder &builder, Value numColumns,
                            function_ref<void(OpBuilder &, Value)> body) {
  count = numColumns;
  Value size = getIndex(builder, loc, getColumnsOfWarp());
  Value numBlocks = arith::CeilDivUIOp::create(builder, loc, count, size);
  auto kernel = bgpu::KernelOp::create(builder, loc, numBlocks, kWarpThreads, body);
  // Where entries come from shared memory, a thread needs registers to read ahead.
  kernel.setManyBlocks(inRegisters);
}

Value ColumnLoop::begin(OpBuilder &builder, Value ownBlock, Value written) {
  block = ownBlock;
  SmallVector<Value> all(loop.saved);
  llvm::append_range(all, loop.captures);
  all.push_back(written);
  arrays = separateArrays(builder, loc, all);
  for (auto &[vector, array] : exchanges)
    array = allocate(builder, getColumnsOfWarp(), getNumRows(vector), vector.getType());
  if (inRegisters)
    loadFactors(builder);
  else
    copyFactors(builder);
  return arrays.lookup(written);
}

SmallVector<Value> ColumnLoop::forEachThread(OpBuilder &builder, ValueRange tiles,
                                             TypeRange elements, ThreadBody body) {
  SmallVector<int64_t> shape = {getColumnsOfWarp()};
  if (parts > 1)
    shape.push_back(parts);
  auto emitBody = [&](OpBuilder &inThread, ValueRange at, ValueRange own) {
    columnOfWarp = at[0];
    part = parts > 1 ? at[1] : getIndex(inThread, loc, 0);
    return body(inThread, own);
  };
  auto each = bgpu::ForEachOp::create(builder, loc, shape, tiles, elements, emitBody);
  return llvm::to_vector_of<Value>(each.getResults());
}

/// The number of the thread's column, which may be beyond the last one.
Value ColumnLoop::getPosition(OpBuilder &builder) const {
  Value first = mulIndex(builder, loc, block, getIndex(builder, loc, getColumnsOfWarp()));
  return addIndex(builder, loc, first, columnOfWarp);
}

/// The same, or that of the last one.
Value ColumnLoop::getNumber(OpBuilder &builder) const {
  return minIndex(builder, loc, getPosition(builder), addIndex(builder, loc, count, -1));
}

/// The rows of the states that this thread has, counted through all of them.
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

int64_t ColumnLoop::countRows() const {
  int64_t sum = 0;
  for (size_t i = 0; i < loop.getNumStates(); ++i)
    sum += layout(loop.getStateSize(i)).getNumSlots();
  return sum;
}

Value ColumnLoop::makeRows(OpBuilder &builder, RowOfColumn value) {
  auto type = VectorType::get(countRows(), loop.getElementType());
  return forEachThread(builder, {}, type,
                       [&](OpBuilder &inThread, ValueRange) {
                         Value number = getNumber(inThread);
                         Rows rows;
                         for (const BlockCyclicLayout::Element &row : getRows(inThread))
                           rows.push_back(value(inThread, number, row.index));
                         return SmallVector<Value>{packNumbers(inThread, loc, rows)};
                       })
      .front();
}

void ColumnLoop::forEachRow(OpBuilder &builder, Value rows,
                            function_ref<StoreRow(OpBuilder &, Value)> getStore) {
  forEachThread(builder, rows, {}, [&](OpBuilder &inThread, ValueRange own) {
    SmallVector<Value> values = unpackNumbers(inThread, loc, own[0]);
    StoreRow store = getStore(inThread, getNumber(inThread));
    SmallVector<BlockCyclicLayout::Element> places = getRows(inThread);
    Value exists = isBelow(inThread, loc, getPosition(inThread), count);
    emitIf(inThread, loc, exists, [&](OpBuilder &inColumn) {
      for (auto [row, value] : llvm::zip_equal(places, values)) {
        auto storeRow = [&, row = row, value = value](OpBuilder &b) { store(b, row.index, value); };
        if (row.exists)
          emitIf(inColumn, loc, row.exists, storeRow);
        else
          storeRow(inColumn);
      }
    });
    return SmallVector<Value>();
  });
}

Value ColumnLoop::run(OpBuilder &builder, const ColumnRuns &ofColumns, Value rows) {
  runs = &ofColumns;
  SmallVector<Value> carried = {rows};
  if (ring)
    carried.push_back(ring->begin(builder, block, arrays, ofColumns));
  auto emitLink = [&](OpBuilder &nested, Value link, ValueRange before) {
    // Nothing writes copies of matrices any more, so LLVM would take the loads of their entries out
    // of the loop, to more registers than there are.
    if (!inRegisters && !ring)
      gpu::BarrierOp::create(nested, loc);
    SavedPlaces saved = {{}, link};
    if (ring)
      saved.slots = ring->getSlots(nested, link);
    SmallVector<Value> after = {emitStep(nested, saved, before[0])};
    if (ring)
      after.push_back(ring->advance(nested, link, before[1]));
    return after;
  };
  return emitFold(builder, loc, getIndex(builder, loc, 0), runs->length, carried, emitLink).front();
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

/// An array in shared memory for `count` vectors of `rows` rows.
Value ColumnLoop::allocate(OpBuilder &builder, int64_t numVectors, int64_t rows, Type vector) {
  int64_t stride = llvm::alignTo(rows, std::max(parts, kLoadedTogether));
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(), gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get({numVectors, stride}, cast<VectorType>(vector).getElementType(),
                              MemRefLayoutAttrInterface(), space);
  return memref::AllocOp::create(builder, loc, type);
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
  copies.clear();
  entries.clear();
  for (const LinkFactor &factor : factors) {
    Value copy = allocate(builder, factor.numColumns, factor.numRows, factor.matrix.getType());
    copies.push_back(copy);
    Value matrix = getCapture(factor.matrix);
    bgpu::ForEachOp::create(
        builder, loc, factor.numRows, ValueRange(),
        [&](OpBuilder &inThread, ValueRange row, ValueRange) {
          for (int64_t i = 0; i < factor.numColumns; ++i) {
            Value entry = loadFactor(inThread, loc, matrix, factor.isTransposed, row[0], i);
            memref::StoreOp::create(inThread, loc, entry, copy,
                                    ValueRange{getIndex(inThread, loc, i), row[0]});
          }
        });
  }
}

/// The thread's rows of each factor, for all steps: loads that do not wait for each other.
void ColumnLoop::loadFactors(OpBuilder &builder) {
  entryTiles.clear();
  entries.assign(factors.size(), {});
  for (const LinkFactor &factor : factors) {
    int64_t numSlots = layout(factor.numRows).getNumSlots();
    auto type = VectorType::get(factor.numColumns * numSlots, loop.getElementType());
    auto load = [&](OpBuilder &inThread, ValueRange) {
      Rows own;
      for (int64_t i = 0; i < factor.numColumns; ++i)
        for (int64_t slot = 0; slot < numSlots; ++slot)
          own.push_back(loadFactor(inThread, loc, getCapture(factor.matrix), factor.isTransposed,
                                   getRow(inThread, factor.numRows, slot), i));
      return SmallVector<Value>{packNumbers(inThread, loc, own)};
    };
    entryTiles.append(forEachThread(builder, {}, type, load));
  }
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

/// The rows behind a link.
Value ColumnLoop::emitStep(OpBuilder &builder, const SavedPlaces &saved, Value column) {
  llvm::MapVector<Value, Value> tiles;
  for (const StepPart &ofStep : step) {
    bool isFirst = &ofStep == &step.front(), isLast = &ofStep == &step.back();
    SmallVector<Value> read = entryTiles;
    for (auto [value, tile] : tiles)
      read.push_back(tile);
    if (isFirst)
      read.push_back(column);
    auto emitBody = [&](OpBuilder &inThread, ValueRange own) {
      for (Rows &ofFactor : entries)
        ofFactor = unpackNumbers(inThread, loc, own[&ofFactor - entries.begin()]);
      RowsOfValues rows;
      for (auto [value, numbers] : llvm::zip(tiles, own.drop_front(entries.size())))
        rows[value.first] = unpackNumbers(inThread, loc, numbers);
      if (isFirst)
        loadArguments(inThread, saved, own.back(), rows);
      emitPart(inThread, ofStep, rows);
      return isLast ? SmallVector<Value>{packNumbers(inThread, loc, getYielded(rows))}
                    : llvm::map_to_vector(ofStep.handedOn, [&](Value value) {
                        return packNumbers(inThread, loc, rows.lookup(value));
                      });
    };
    SmallVector<Type> types =
        llvm::map_to_vector(ofStep.handedOn, [&](Value value) { return getRowsType(value); });
    if (isLast)
      types = {VectorType::get(countRows(), loop.getElementType())};
    SmallVector<Value> made = forEachThread(builder, read, types, emitBody);
    if (isLast)
      return made.front();
    for (auto [value, tile] : llvm::zip_equal(ofStep.handedOn, made))
      tiles[value] = tile;
  }
  llvm_unreachable("a step has a last part");
}

/// The type of the rows of `value` that a thread has.
Type ColumnLoop::getRowsType(Value value) const {
  return VectorType::get(layout(getNumRows(value)).getNumSlots(), getElementTypeOrSelf(value));
}

ColumnLoop::Rows ColumnLoop::getYielded(const RowsOfValues &rows) const {
  Rows next;
  for (Value yielded : region->front().getTerminator()->getOperands())
    next.append(rows.lookup(yielded));
  return next;
}

/// The thread's row in `slot` of saved array number `number`.
Value ColumnLoop::loadSaved(OpBuilder &builder, const SavedPlaces &saved, size_t number,
                            int64_t numRows, int64_t slot) {
  Value numColumns = getIndex(builder, loc, runs->numColumns);
  Value run = arith::DivUIOp::create(builder, loc, getNumber(builder), numColumns);
  if (ring) {
    size_t source = llvm::find(readSaved, number) - readSaved.begin();
    Value place = layout(numRows).getPlace(builder, loc, part, slot);
    return ring->load(builder, source, saved.slots[source], run, place);
  }
  auto [sample, first] = runs->at(builder, run);
  Value at = runs->stepAt(builder, addIndex(builder, loc, first, saved.link));
  return Place{arrays.lookup(loop.saved[number]), {at, sample}}.load(
      builder, loc, getRow(builder, numRows, slot));
}

void ColumnLoop::loadArguments(OpBuilder &builder, const SavedPlaces &saved, Value column,
                               RowsOfValues &rows) {
  Block &body = region->front();
  auto load = [&](BlockArgument argument, function_ref<Value(int64_t, int64_t)> loadRow) {
    if (argument.use_empty() || cast<VectorType>(argument.getType()).getRank() != 1)
      return;
    int64_t numRows = getNumRows(argument);
    for (int64_t slot = 0, e = layout(numRows).getNumSlots(); slot < e; ++slot)
      rows[argument].push_back(loadRow(numRows, slot));
  };
  unsigned number = 0;
  for (size_t i = 0; i < loop.saved.size(); ++i)
    load(body.getArgument(number++), [&](int64_t numRows, int64_t slot) {
      return loadSaved(builder, saved, i, numRows, slot);
    });
  SmallVector<Value> own = unpackNumbers(builder, loc, column);
  auto ofState = own.begin();
  for (size_t i = 0; i < loop.getNumStates(); ++i) {
    int64_t size = layout(loop.getStateSize(i)).getNumSlots();
    rows[body.getArgument(number++)] = Rows(ofState, ofState + size);
    ofState += size;
  }
  for (BlockArgument capture : body.getArguments().drop_front(number))
    load(capture, [&](int64_t numRows, int64_t slot) {
      return Place{getCapture(capture), {}}.load(builder, loc, getRow(builder, numRows, slot));
    });
}

void ColumnLoop::emitPart(OpBuilder &builder, const StepPart &ofStep, RowsOfValues &rows) {
  for (Operation *op : ofStep.ops)
    rows[op->getResult(0)] = emitOp(builder, op, rows);
  for (Value vector : ofStep.exchanged)
    for (auto [slot, value] : llvm::enumerate(rows.lookup(vector)))
      memref::StoreOp::create(
          builder, loc, value, exchanges.lookup(vector),
          ValueRange{columnOfWarp, layout(getNumRows(vector)).getPlace(builder, loc, part, slot)});
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
    Value value = loadElementOf(builder, product.getVector(), i, rows);
    for (auto [slot, sum] : llvm::enumerate(sums)) {
      Value entry = loadEntry(builder, factor, i, slot);
      sum = math::FmaOp::create(builder, loc, entry, value, sum);
    }
  }
  return sums;
}

/// Element `column` of a vector that is multiplied.
Value ColumnLoop::loadElementOf(OpBuilder &builder, Value vector, int64_t column,
                                const RowsOfValues &rows) {
  if (parts == 1)
    return rows.lookup(vector)[column];
  return memref::LoadOp::create(builder, loc, exchanges.lookup(vector),
                                ValueRange{columnOfWarp, getIndex(builder, loc, column)});
}
