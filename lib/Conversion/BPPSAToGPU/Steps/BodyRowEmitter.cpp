//===- BodyRowEmitter.cpp - emits one step of a body for a block -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BodyRowEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

BodyRowEmitter::BodyRowEmitter(BodyPlan bodyPlan, Block &body, ValueRange captures,
                               GPUMappingAttr mapping, ArrayRef<UnitSum> sums)
    : RowEvaluator(std::move(bodyPlan), body, captures), parts(mapping.getParts()),
      numThreads(mapping.getThreads()), inRegisters(mapping.keepsMatricesInRegisters()),
      sums(sums) {
  for (const RowUnit &unit : plan.getUnits())
    for (Value value : unit.stored)
      if (needsScratch(value))
        scratchValues.push_back(value);
}

FailureOr<BodyRowEmitter> BodyRowEmitter::create(Block &body, ValueRange captures,
                                                 GPUMappingAttr mapping, ArrayRef<UnitSum> sums) {
  FailureOr<BodyPlan> plan = BodyPlan::create(body, captures.size());
  if (failed(plan))
    return failure();
  return BodyRowEmitter(std::move(*plan), body, captures, mapping, sums);
}

/// A value that is only yielded goes to its results alone, and arguments have places.
bool BodyRowEmitter::needsScratch(Value value) const {
  if (isa<BlockArgument>(value) && !plan.isCapture(value))
    return false;
  return llvm::any_of(value.getUsers(), [](Operation *user) { return !isa<YieldOp>(user); });
}

int64_t BodyRowEmitter::getNumSumRegisters() const {
  int64_t count = 0;
  for (const UnitSum &sum : sums)
    count += layout(sum.columns).getNumSlots();
  return count;
}

RowProduct BodyRowEmitter::getRowProduct(MatVecOp product) const {
  auto matrix = cast<BlockArgument>(product.getMatrix());
  return RowProduct(product, captures[matrix.getArgNumber() - firstCapture], parts);
}

SmallVector<MemRefType> BodyRowEmitter::getSharedTypes() const {
  SmallVector<MemRefType> types;
  for (Value value : scratchValues)
    types.push_back(MemRefType::get({padRows(getNumRows(value))},
                                    cast<VectorType>(value.getType()).getElementType()));
  return types;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void BodyRowEmitter::begin(OpBuilder &builder, Location loc, const LaunchedThread &thread,
                           ValueRange shared) {
  SmallVector<Value> digits = {thread.thread, getIndex(builder, loc, 0)};
  if (parts > 1)
    digits = splitIndex(builder, loc, thread.thread, {Value(), getIndex(builder, loc, parts)});
  unitIndex = digits[0];
  part = digits[1];
  scratch.clear();
  for (auto [value, array] : llvm::zip_equal(scratchValues, shared))
    scratch[value] = {array, {}, 0};
  loadCapturedRows(builder, loc, unitIndex);
  matrixParts.clear();
  if (!inRegisters)
    return;
  for (const RowUnit &unit : plan.getUnits())
    for (const ProductSum &sum : unit.sums)
      for (MatVecOp product : sum.products)
        matrixParts[product] = getRowProduct(product).loadEntries(builder, unitIndex, part);
}

SmallVector<Value> BodyRowEmitter::emitStep(OpBuilder &builder, Location loc,
                                            ArrayRef<Place> stepArguments,
                                            ArrayRef<SmallVector<Place, 2>> stepResults,
                                            ArrayRef<Place> factors, ValueRange running,
                                            StepPart whileWaiting) {
  arguments = stepArguments;
  results = stepResults;
  yieldedRows.clear();
  loadedOfSums.clear();
  int64_t stage = plan.getUnits().empty() ? 0 : plan.getUnits().front().stage;
  int64_t capacity = getCapacityAhead();
  for (const RowUnit &unit : plan.getUnits()) {
    if (unit.stage != stage)
      emitBarrier(builder, loc);
    stage = unit.stage;
    int64_t loaded = loadAhead(builder, unit, capacity);
    if (loaded > 0 && whileWaiting) {
      loadOfSums(builder, loc, factors, capacity - loaded);
      whileWaiting(builder);
      whileWaiting = nullptr;
    }
    emitUnit(builder, loc, unit);
  }
  if (whileWaiting)
    whileWaiting(builder);
  return addToSums(builder, loc, factors, running);
}

/// Every thread evaluates a row, so that all take part in shuffles: one beyond the
/// last evaluates the last again, and does not write it.
void BodyRowEmitter::emitUnit(OpBuilder &builder, Location loc, const RowUnit &unit) {
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
  SmallVector<std::pair<Place, Value>> stores;
  for (Value value : unit.stored) {
    Value scalar = getStoredRow(builder, loc, value, unit, row, values);
    yieldedRows[value] = scalar;
    for (const Place &home : getHomes(value))
      stores.emplace_back(home, scalar);
  }
  emitStores(builder, loc, unit, stores, row);
}

bool BodyRowEmitter::holdsOtherRows(Value array, int64_t rows) const {
  for (auto [value, places] : llvm::zip_equal(body->getTerminator()->getOperands(), results))
    for (const Place &place : places)
      if (place.memref == array && getNumRows(value) != rows)
        return true;
  return false;
}

/// Where all threads without a row are in one warp, stores take no branch: to shared memory they
/// go to spare rows, to device memory to the last row, which has the same value. What is
/// evaluated is not moved into a branch then, which would cost more than it saves.
void BodyRowEmitter::emitStores(OpBuilder &builder, Location loc, const RowUnit &unit,
                                ArrayRef<std::pair<Place, Value>> stores, Value row) {
  Value isOwner = isBelow(builder, loc, unitIndex, getIndex(builder, loc, unit.rows));
  if (parts > 1)
    isOwner = arith::AndIOp::create(builder, loc, isOwner,
                                    isEqual(builder, loc, part, getIndex(builder, loc, 0)));
  bool isLastWarp = numThreads == roundUpToWarps(unit.rows * parts);
  SmallVector<std::pair<Place, Value>> ofOwners;
  for (auto &[place, scalar] : stores) {
    auto type = cast<MemRefType>(place.memref.getType());
    bool isShared = gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type);
    if (!isLastWarp || (isShared && parts > 1)) {
      ofOwners.emplace_back(place, scalar);
      continue;
    }
    if (!isShared) {
      place.store(builder, loc, scalar, row);
      continue;
    }
    int64_t end = type.getShape().back() - place.first;
    Value spare = addIndex(builder, loc, unitIndex, end - kSpareRows - unit.rows);
    if (holdsOtherRows(place.memref, unit.rows)) {
      Value lanes = getIndex(builder, loc, kWarpThreads - 1);
      Value lane = arith::AndIOp::create(builder, loc, unitIndex, lanes);
      spare = addIndex(builder, loc, lane, end - kSpareRows);
    }
    Value at = arith::SelectOp::create(builder, loc, isOwner, unitIndex, spare);
    place.store(builder, loc, scalar, at);
  }
  if (ofOwners.empty())
    return;
  emitIf(builder, loc, isOwner, [&](OpBuilder &nested) {
    for (auto &[place, scalar] : ofOwners)
      place.store(nested, loc, scalar, row);
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value BodyRowEmitter::emitProductSum(OpBuilder &builder, Location loc, const ProductSum &sum,
                                     Value row) {
  Type type = cast<VectorType>(sum.result.getType()).getElementType();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  SmallVector<Value> partials(kNumPartials, zero);
  for (MatVecOp product : sum.products) {
    if (inRegisters)
      accumulateFromRegisters(builder, product, partials);
    else
      partials[0] = getRowProduct(product).accumulateFromMemory(
          builder, getHome(product.getVector()), row, partials[0]);
  }
  return addAcrossThreads(builder, loc, addPartials(builder, loc, std::move(partials)));
}

/// Elements of vectors that a thread can hold beside its entries of matrices and sums.
int64_t BodyRowEmitter::getCapacityAhead() const {
  int64_t registers = getNumSumRegisters();
  for (const RowUnit &unit : plan.getUnits())
    for (const ProductSum &sum : unit.sums)
      for (MatVecOp product : sum.products)
        registers += getRowProduct(product).getNumColumns();
  return inRegisters ? countReadAhead(registers, firstCapture) : 0;
}

/// Reads vectors that the products of `unit` multiply, as far as can be held so many
/// elements; returns how many it has read.
int64_t BodyRowEmitter::loadAhead(OpBuilder &builder, const RowUnit &unit, int64_t capacity) {
  loadedFactors.clear();
  int64_t count = 0;
  for (const ProductSum &sum : unit.sums)
    for (MatVecOp product : sum.products) {
      RowProduct ofRow = getRowProduct(product);
      int64_t columns = ofRow.getNumColumns();
      if (loadedFactors.contains(product.getVector()) || count + columns > capacity)
        continue;
      count += columns;
      SmallVector<Value> &factors = loadedFactors[product.getVector()];
      for (int64_t i = 0; i < columns; ++i)
        factors.push_back(ofRow.loadFactor(builder, getHome(product.getVector()), part, i));
    }
  return count;
}

void BodyRowEmitter::accumulateFromRegisters(OpBuilder &builder, MatVecOp product,
                                             MutableArrayRef<Value> partials) {
  auto loaded = loadedFactors.find(product.getVector());
  RowProduct ofRow = getRowProduct(product);
  auto getFactor = [&](int64_t i) {
    return loaded == loadedFactors.end()
               ? ofRow.loadFactor(builder, getHome(product.getVector()), part, i)
               : loaded->second[i];
  };
  ofRow.accumulate(builder, matrixParts.find(product)->second, getFactor, partials);
}

/// Adds up the parts of a row, which neighbouring threads have, in all of them.
Value BodyRowEmitter::addAcrossThreads(OpBuilder &builder, Location loc, Value value) {
  for (int64_t offset = parts / 2; offset > 0; offset /= 2)
    value = arith::AddFOp::create(builder, loc, value, emitButterfly(builder, loc, value, offset));
  return value;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

SmallVector<Place> BodyRowEmitter::getHomes(Value value) const {
  SmallVector<Place> homes;
  if (auto own = scratch.find(value); own != scratch.end())
    homes.push_back(own->second);
  for (auto [operand, places] : llvm::zip_equal(body->getTerminator()->getOperands(), results))
    if (operand == value)
      homes.append(places.begin(), places.end());
  return homes;
}

Place BodyRowEmitter::getHome(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (argument.getArgNumber() < firstCapture)
      return arguments[argument.getArgNumber()];
  return getHomes(value).front();
}
