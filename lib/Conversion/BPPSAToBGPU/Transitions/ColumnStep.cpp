//===- ColumnStep.cpp - a step of a column --------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../../Codegen/GPU/Launch.h"
#include "../ThreadNumbers.h"
#include "ColumnLoop.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace bppsa;

/// Operations move before products that wait for other threads, so that several products exchange
/// vectors together.
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

/// Returns vectors of which `op` reads the rows of its thread.
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
    // Use the order of the body; the set has none.
    auto handOn = [&](Value value) {
      if (!isLast && later.contains(value) && isMade(value))
        ofStep.liveOut.push_back(value);
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
        ofFactor = unpackScalars(inThread, loc, own[&ofFactor - entries.begin()]);
      RowsOfValues rows;
      for (auto [value, numbers] : llvm::zip(tiles, own.drop_front(entries.size())))
        rows[value.first] = unpackScalars(inThread, loc, numbers);
      if (isFirst)
        loadArguments(inThread, saved, own.back(), rows);
      emitPart(inThread, ofStep, rows);
      return isLast ? SmallVector<Value>{packScalars(inThread, loc, getYielded(rows))}
                    : llvm::map_to_vector(ofStep.liveOut, [&](Value value) {
                        return packScalars(inThread, loc, rows.lookup(value));
                      });
    };
    SmallVector<Type> types =
        llvm::map_to_vector(ofStep.liveOut, [&](Value value) { return getRowsType(value); });
    if (isLast)
      types = {VectorType::get(countRows(), loop.getElementType())};
    SmallVector<Value> made = forEachThread(builder, read, types, emitBody);
    if (isLast)
      return made.front();
    for (auto [value, tile] : llvm::zip_equal(ofStep.liveOut, made))
      tiles[value] = tile;
  }
  llvm_unreachable("a step has a last part");
}

Type ColumnLoop::getRowsType(Value value) const {
  return VectorType::get(layout(getNumRows(value)).getNumSlots(), getElementTypeOrSelf(value));
}

ColumnLoop::Rows ColumnLoop::getYielded(const RowsOfValues &rows) const {
  Rows next;
  for (Value yielded : region->front().getTerminator()->getOperands())
    next.append(rows.lookup(yielded));
  return next;
}

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
  SmallVector<Value> own = unpackScalars(builder, loc, column);
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
  // A thread that reads other rows holds all rows, so indices are constant.
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

/// Each row is one chain of additions in column order.
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

Value ColumnLoop::loadElementOf(OpBuilder &builder, Value vector, int64_t column,
                                const RowsOfValues &rows) {
  if (parts == 1)
    return rows.lookup(vector)[column];
  return memref::LoadOp::create(builder, loc, exchanges.lookup(vector),
                                ValueRange{columnOfWarp, getIndex(builder, loc, column)});
}
