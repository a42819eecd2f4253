//===- UnitEmitter.cpp - emits one step of a body for a block -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "UnitEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace bppsa;

/// Entries of matrices that a thread keeps in registers, of the 255 that it has.
static constexpr int64_t kMostRegisterEntries = 128;

/// Registers of a multiprocessor: what the threads of one block have together.
static constexpr int64_t kRegistersOfBlock = 65536;

/// Registers that a thread needs for everything but matrix entries.
static constexpr int64_t kOtherRegisters = 48;

/// Additions under way at a time: each waits for the last of its partial sum.
static constexpr int64_t kNumPartials = 4;

Value Place::load(OpBuilder &builder, Location loc, Value row) const {
  SmallVector<Value> indices(prefix.begin(), prefix.end());
  indices.push_back(addIndex(builder, loc, row, first));
  return memref::LoadOp::create(builder, loc, memref, indices);
}

void Place::store(OpBuilder &builder, Location loc, Value value, Value row) const {
  SmallVector<Value> indices(prefix.begin(), prefix.end());
  indices.push_back(addIndex(builder, loc, row, first));
  memref::StoreOp::create(builder, loc, value, memref, indices);
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

UnitEmitter::UnitEmitter(BodyPlan plan, Block &body, ValueRange captures)
    : plan(std::move(plan)), body(&body), firstCapture(body.getNumArguments() - captures.size()),
      captures(captures) {
  for (const RowUnit &unit : this->plan.getUnits())
    for (Value value : unit.stored)
      if (needsScratch(value))
        scratchValues.push_back(value);
}

FailureOr<UnitEmitter> UnitEmitter::create(Block &body, ValueRange captures) {
  FailureOr<BodyPlan> plan = BodyPlan::create(body, captures.size());
  if (failed(plan))
    return failure();
  UnitEmitter emitter(std::move(*plan), body, captures);
  if (failed(emitter.chooseThreads()))
    return failure();
  return emitter;
}

/// A value that is only yielded goes to its results alone, and arguments have places.
bool UnitEmitter::needsScratch(Value value) const {
  if (isa<BlockArgument>(value) && !plan.isCapture(value))
    return false;
  return llvm::any_of(value.getUsers(), [](Operation *user) { return !isa<YieldOp>(user); });
}

LogicalResult UnitEmitter::chooseThreads() {
  int64_t rows = 1;
  SmallVector<int64_t> columns;
  for (const RowUnit &unit : plan.getUnits()) {
    rows = std::max(rows, unit.rows);
    for (const ProductSum &sum : unit.sums)
      for (MatVecOp product : sum.products)
        columns.push_back(getNumRows(product.getVector()));
  }
  if (rows > kMostThreads)
    return body->getParentOp()->emitOpError()
           << "has a vector of " << rows << " rows, and a block of a GPU has at most "
           << kMostThreads << " threads; use --target=cpu";
  for (parts = 1; parts <= 8 && parts * rows <= kMostThreads; parts *= 2) {
    int64_t entries = 0;
    for (int64_t count : columns)
      entries += llvm::divideCeil(count, parts);
    numThreads = roundUpToWarps(rows * parts);
    if (entries <= kMostRegisterEntries &&
        (entries + kOtherRegisters) * numThreads <= kRegistersOfBlock)
      return success();
  }
  inRegisters = false;
  parts = 1;
  numThreads = roundUpToWarps(rows);
  return success();
}

int64_t UnitEmitter::getPartColumns(MatVecOp product) const {
  return llvm::divideCeil(getNumRows(product.getVector()), parts);
}

SmallVector<MemRefType> UnitEmitter::getSharedTypes() const {
  SmallVector<MemRefType> types;
  for (Value value : scratchValues)
    types.push_back(
        MemRefType::get({getNumRows(value)}, cast<VectorType>(value.getType()).getElementType()));
  return types;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void UnitEmitter::begin(OpBuilder &builder, Location loc, const LaunchedThread &thread,
                        ValueRange shared) {
  SmallVector<Value> digits = {thread.thread, getIndex(builder, loc, 0)};
  if (parts > 1)
    digits = splitIndex(builder, loc, thread.thread, {Value(), getIndex(builder, loc, parts)});
  unitIndex = digits[0];
  part = digits[1];
  scratch.clear();
  for (auto [value, array] : llvm::zip_equal(scratchValues, shared))
    scratch[value] = {array, {}, 0};
  loadCapturedRows(builder, loc);
  matrixParts.clear();
  if (!inRegisters)
    return;
  for (const RowUnit &unit : plan.getUnits())
    for (const ProductSum &sum : unit.sums)
      for (MatVecOp product : sum.products)
        matrixParts[product] = loadMatrixPart(builder, product.getLoc(), product);
}

/// Those of captured vectors, for the units of each number of rows: what no operation
/// reads in the end is not loaded.
void UnitEmitter::loadCapturedRows(OpBuilder &builder, Location loc) {
  capturedRows.clear();
  for (const RowUnit &unit : plan.getUnits())
    for (auto [argument, array] :
         llvm::zip_equal(body->getArguments().drop_front(firstCapture), captures)) {
      auto type = cast<VectorType>(argument.getType());
      Value &value = capturedRows[{argument, unit.rows}];
      if (type.getRank() != 1 || value)
        continue;
      int64_t last = std::min(unit.rows, type.getDimSize(0)) - 1;
      Value row = minIndex(builder, loc, unitIndex, getIndex(builder, loc, last));
      value = memref::LoadOp::create(builder, loc, array, row);
    }
}

Value UnitEmitter::loadMatrixEntry(OpBuilder &builder, Location loc, MatVecOp product, Value row,
                                   Value column) {
  auto matrix = cast<BlockArgument>(product.getMatrix());
  Value array = captures[matrix.getArgNumber() - firstCapture];
  if (product.getTransposed())
    std::swap(row, column);
  return memref::LoadOp::create(builder, loc, array, ValueRange{row, column});
}

/// Columns part, part + parts, ... of the row of this thread; beyond the last
/// column the entry is that of the last one, which is not used.
Value UnitEmitter::loadMatrixPart(OpBuilder &builder, Location loc, MatVecOp product) {
  int64_t rows = getNumRows(product.getResult()), columns = getNumRows(product.getVector());
  Value row = minIndex(builder, loc, unitIndex, getIndex(builder, loc, rows - 1));
  Value last = getIndex(builder, loc, columns - 1);
  SmallVector<Value> entries;
  for (int64_t i = 0, e = getPartColumns(product); i < e; ++i) {
    Value column = addIndex(builder, loc, part, i * parts);
    if ((i + 1) * parts > columns)
      column = minIndex(builder, loc, column, last);
    entries.push_back(loadMatrixEntry(builder, loc, product, row, column));
  }
  auto type = VectorType::get(entries.size(), entries.front().getType());
  return vector::FromElementsOp::create(builder, loc, type, entries);
}

void UnitEmitter::emitStep(OpBuilder &builder, Location loc, ArrayRef<Place> stepArguments,
                           ArrayRef<SmallVector<Place, 2>> stepResults) {
  arguments = stepArguments;
  results = stepResults;
  int64_t stage = plan.getUnits().empty() ? 0 : plan.getUnits().front().stage;
  for (const RowUnit &unit : plan.getUnits()) {
    if (unit.stage != stage)
      emitBarrier(builder, loc);
    stage = unit.stage;
    emitUnit(builder, loc, unit);
  }
}

/// Every thread evaluates a row, so that all take part in shuffles: one beyond the
/// last evaluates the last again, and does not write it.
void UnitEmitter::emitUnit(OpBuilder &builder, Location loc, const RowUnit &unit) {
  Value last = getIndex(builder, loc, unit.rows - 1);
  Value row = minIndex(builder, loc, unitIndex, last);
  RowValues values;
  for (const ProductSum &sum : unit.sums) {
    Value total = emitProductSum(builder, loc, sum, row);
    if (sum.addend)
      total = arith::AddFOp::create(builder, loc, total,
                                    getRow(builder, loc, sum.addend, unit, row, values));
    values[sum.result] = total;
  }
  SmallVector<std::pair<Value, Value>> stores;
  for (Value value : unit.stored) {
    auto insert = value.getDefiningOp<vector::InsertStridedSliceOp>();
    stores.emplace_back(value, insert ? emitInsertedRow(builder, loc, insert, row)
                                      : getRow(builder, loc, value, unit, row, values));
  }
  Value isOwner = isBelow(builder, loc, unitIndex, getIndex(builder, loc, unit.rows));
  if (parts > 1)
    isOwner = arith::AndIOp::create(builder, loc, isOwner,
                                    isEqual(builder, loc, part, getIndex(builder, loc, 0)));
  emitIf(builder, loc, isOwner, [&](OpBuilder &nested) {
    for (auto [value, scalar] : stores)
      for (const Place &home : getHomes(value))
        home.store(nested, loc, scalar, row);
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value UnitEmitter::emitProductSum(OpBuilder &builder, Location loc, const ProductSum &sum,
                                  Value row) {
  Type type = cast<VectorType>(sum.result.getType()).getElementType();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  SmallVector<Value> partials(kNumPartials, zero);
  for (MatVecOp product : sum.products) {
    if (inRegisters)
      accumulateFromRegisters(builder, product.getLoc(), product, partials);
    else
      accumulateFromMemory(builder, product.getLoc(), product, row, partials);
  }
  while (partials.size() > 1) {
    size_t half = partials.size() / 2;
    for (size_t i = 0; i < half; ++i)
      partials[i] = arith::AddFOp::create(builder, loc, partials[i], partials[i + half]);
    partials.resize(half);
  }
  return addAcrossThreads(builder, loc, partials.front());
}

void UnitEmitter::accumulateFromRegisters(OpBuilder &builder, Location loc, MatVecOp product,
                                          MutableArrayRef<Value> partials) {
  Place vector = getHome(product.getVector());
  int64_t columns = getNumRows(product.getVector());
  Value entries = matrixParts.lookup(product);
  for (int64_t i = 0, e = getPartColumns(product); i < e; ++i) {
    Value column = addIndex(builder, loc, part, i * parts);
    Value entry = vector::ExtractOp::create(builder, loc, entries, i);
    if ((i + 1) * parts > columns) {
      // Columns beyond the last add nothing, whatever the vector holds.
      Value last = getIndex(builder, loc, columns - 1);
      Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, column, last);
      Value factor = vector.load(builder, loc, minIndex(builder, loc, column, last));
      Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(entry.getType()));
      entry = arith::SelectOp::create(builder, loc, exists, entry, zero);
      factor = arith::SelectOp::create(builder, loc, exists, factor, zero);
      partials[i % kNumPartials] =
          math::FmaOp::create(builder, loc, entry, factor, partials[i % kNumPartials]);
      continue;
    }
    Value factor = vector.load(builder, loc, column);
    partials[i % kNumPartials] =
        math::FmaOp::create(builder, loc, entry, factor, partials[i % kNumPartials]);
  }
}

void UnitEmitter::accumulateFromMemory(OpBuilder &builder, Location loc, MatVecOp product,
                                       Value row, MutableArrayRef<Value> partials) {
  Place vector = getHome(product.getVector());
  Value columns = getIndex(builder, loc, getNumRows(product.getVector()));
  Value owned =
      minIndex(builder, loc, row, getIndex(builder, loc, getNumRows(product.getResult()) - 1));
  partials[0] =
      emitFold(builder, loc, getIndex(builder, loc, 0), columns, partials[0],
               [&](OpBuilder &nested, Value column, ValueRange sum) {
                 Value entry = loadMatrixEntry(nested, loc, product, owned, column);
                 Value factor = vector.load(nested, loc, column);
                 return SmallVector<Value>{math::FmaOp::create(nested, loc, entry, factor, sum[0])};
               })
          .front();
}

/// Adds up the parts of a row, which neighbouring threads have, in all of them.
Value UnitEmitter::addAcrossThreads(OpBuilder &builder, Location loc, Value value) {
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(number));
  };
  for (int64_t offset = parts / 2; offset > 0; offset /= 2) {
    auto other = gpu::ShuffleOp::create(builder, loc, value, constant(offset),
                                        constant(kWarpThreads), gpu::ShuffleMode::XOR);
    value = arith::AddFOp::create(builder, loc, value, other.getShuffleResult());
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

SmallVector<Place> UnitEmitter::getHomes(Value value) const {
  SmallVector<Place> homes;
  if (auto own = scratch.find(value); own != scratch.end())
    homes.push_back(own->second);
  for (auto [operand, places] : llvm::zip_equal(body->getTerminator()->getOperands(), results))
    if (operand == value)
      homes.append(places.begin(), places.end());
  return homes;
}

Place UnitEmitter::getHome(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (argument.getArgNumber() < firstCapture)
      return arguments[argument.getArgNumber()];
  return getHomes(value).front();
}

Value UnitEmitter::getRow(OpBuilder &builder, Location loc, Value value, const RowUnit &unit,
                          Value row, RowValues &values) {
  if (Value known = values.lookup(value))
    return known;
  Value result;
  Operation *op = value.getDefiningOp();
  if (plan.isCapture(value)) {
    result = capturedRows.lookup({value, unit.rows});
  } else if (plan.isLoadedAt(value, unit)) {
    result = getHome(value).load(builder, loc, row);
  } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    result = emitConstant(builder, loc, constant, row);
  } else if (auto slice = dyn_cast<vector::ExtractStridedSliceOp>(op)) {
    int64_t offset = cast<IntegerAttr>(slice.getOffsets()[0]).getInt();
    result = getHome(slice.getSource()).dropFront(offset).load(builder, slice.getLoc(), row);
  } else {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (isa<VectorType>(operand.getType()))
        mapping.map(operand, getRow(builder, loc, operand, unit, row, values));
    Operation *rowOp = op->clone(mapping);
    rowOp->getResult(0).setType(cast<VectorType>(value.getType()).getElementType());
    builder.insert(rowOp);
    result = rowOp->getResult(0);
  }
  values[value] = result;
  return result;
}

/// Row `row` of a vector with another one written over a part of it.
Value UnitEmitter::emitInsertedRow(OpBuilder &builder, Location loc,
                                   vector::InsertStridedSliceOp op, Value row) {
  int64_t offset = cast<IntegerAttr>(op.getOffsets()[0]).getInt();
  int64_t size = getNumRows(op.getValueToStore());
  Value shifted = arith::SubIOp::create(builder, loc, row, getIndex(builder, loc, offset));
  // Rows before the part wrap around to large numbers.
  Value isInside = isBelow(builder, loc, shifted, getIndex(builder, loc, size));
  Value at = arith::SelectOp::create(builder, loc, isInside, shifted, getIndex(builder, loc, 0));
  Value inserted = getHome(op.getValueToStore()).load(builder, loc, at);
  Value kept = getHome(op.getDest()).load(builder, loc, row);
  return arith::SelectOp::create(builder, loc, isInside, inserted, kept);
}

Value UnitEmitter::emitConstant(OpBuilder &builder, Location loc, arith::ConstantOp op, Value row) {
  auto dense = cast<DenseElementsAttr>(op.getValue());
  if (dense.isSplat())
    return arith::ConstantOp::create(builder, loc, dense.getSplatValue<TypedAttr>());
  Value all = arith::ConstantOp::create(builder, loc, dense);
  return vector::ExtractOp::create(builder, loc, all, OpFoldResult(row));
}
