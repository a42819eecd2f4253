//===- UnitEmitter.cpp - emits one step of a body for a block -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "UnitEmitter.h"
#include "bppsa/Cost/DeviceShapes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace bppsa;

/// Threads of a block that sums may ask for where the body alone needs fewer: two warps.
static constexpr int64_t kThreadsForSums = 64;

Value bppsa::addPartials(OpBuilder &builder, Location loc, SmallVector<Value> partials) {
  while (partials.size() > 1) {
    size_t half = llvm::divideCeil(partials.size(), 2);
    for (size_t i = 0; i + half < partials.size(); ++i)
      partials[i] = arith::AddFOp::create(builder, loc, partials[i], partials[i + half]);
    partials.resize(half);
  }
  return partials.front();
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

UnitEmitter::UnitEmitter(BodyPlan bodyPlan, Block &body, ValueRange captures,
                         ArrayRef<UnitSum> sums)
    : RowEvaluator(std::move(bodyPlan), body, captures), sums(sums) {
  for (const RowUnit &unit : plan.getUnits())
    for (Value value : unit.stored)
      if (needsScratch(value))
        scratchValues.push_back(value);
}

FailureOr<UnitEmitter> UnitEmitter::create(Block &body, ValueRange captures,
                                           ArrayRef<UnitSum> sums) {
  FailureOr<BodyPlan> plan = BodyPlan::create(body, captures.size());
  if (failed(plan))
    return failure();
  UnitEmitter emitter(std::move(*plan), body, captures, sums);
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

UnitEmitter::Shape UnitEmitter::chooseShape(const BodyPlan &plan,
                                            const std::vector<int64_t> &summed) {
  int64_t rows = 1;
  std::vector<int64_t> columns;
  for (const RowUnit &unit : plan.getUnits()) {
    rows = std::max(rows, unit.rows);
    for (const ProductSum &sum : unit.sums)
      for (MatVecOp product : sum.products)
        columns.push_back(getNumRows(product.getVector()));
  }
  if (std::optional<cost::BlockShape> shape = cost::shareRows(rows, columns, summed))
    return {rows, shape->parts, shape->threads, /*inRegisters=*/true};
  return {rows, /*parts=*/1, roundUpToWarps(rows), /*inRegisters=*/false};
}

/// At the loop that `body` is of; a copy of a link has none, but its location.
static InFlightDiagnostic emitErrorOf(Block &body) {
  if (Operation *loop = body.getParentOp())
    return loop->emitOpError();
  return emitError(body.getTerminator()->getLoc()) << "the link of a chain ";
}

LogicalResult UnitEmitter::chooseThreads() {
  Shape shape = chooseShape(plan);
  if (shape.rows > kMostThreads)
    return emitErrorOf(*body) << "has a vector of " << shape.rows
                              << " rows, and a block of a GPU has at most " << kMostThreads
                              << " threads; use --target=cpu";
  parts = shape.parts;
  numThreads = shape.numThreads;
  inRegisters = shape.inRegisters;
  if (sums.empty())
    return success();
  std::vector<int64_t> summed;
  for (const UnitSum &sum : sums)
    summed.push_back(sum.columns);
  Shape withSums = chooseShape(plan, summed);
  sumsFit = inRegisters && withSums.inRegisters &&
            withSums.numThreads <= std::max(numThreads, kThreadsForSums);
  parts = withSums.parts;
  numThreads = withSums.numThreads;
  return success();
}

int64_t UnitEmitter::getNumSumRegisters() const {
  int64_t count = 0;
  for (const UnitSum &sum : sums)
    count += llvm::divideCeil(sum.columns, parts);
  return count;
}

int64_t UnitEmitter::getPartColumns(MatVecOp product) const {
  return llvm::divideCeil(getNumRows(product.getVector()), parts);
}

SmallVector<MemRefType> UnitEmitter::getSharedTypes() const {
  SmallVector<MemRefType> types;
  for (Value value : scratchValues)
    types.push_back(MemRefType::get({getNumRows(value) + kSpareRows},
                                    cast<VectorType>(value.getType()).getElementType()));
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
  loadCapturedRows(builder, loc, unitIndex);
  matrixParts.clear();
  if (!inRegisters)
    return;
  for (const RowUnit &unit : plan.getUnits())
    for (const ProductSum &sum : unit.sums)
      for (MatVecOp product : sum.products)
        matrixParts[product] = loadMatrixPart(builder, product.getLoc(), product);
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

SmallVector<Value> UnitEmitter::emitStep(OpBuilder &builder, Location loc,
                                         ArrayRef<Place> stepArguments,
                                         ArrayRef<SmallVector<Place, 2>> stepResults,
                                         ArrayRef<Place> factors, ValueRange running) {
  arguments = stepArguments;
  results = stepResults;
  yieldedRows.clear();
  int64_t stage = plan.getUnits().empty() ? 0 : plan.getUnits().front().stage;
  for (const RowUnit &unit : plan.getUnits()) {
    if (unit.stage != stage)
      emitBarrier(builder, loc);
    stage = unit.stage;
    emitUnit(builder, loc, unit);
  }
  return addToSums(builder, loc, factors, running);
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
  SmallVector<std::pair<Place, Value>> stores;
  for (Value value : unit.stored) {
    Value scalar = getStoredRow(builder, loc, value, unit, row, values);
    yieldedRows[value] = scalar;
    for (const Place &home : getHomes(value))
      stores.emplace_back(home, scalar);
  }
  emitStores(builder, loc, unit, stores, row);
}

/// Where all threads without a row are in one warp, they store to shared memory too, to
/// spare rows: what they evaluate is not moved into a branch then, which would cost more
/// than it saves.
void UnitEmitter::emitStores(OpBuilder &builder, Location loc, const RowUnit &unit,
                             ArrayRef<std::pair<Place, Value>> stores, Value row) {
  Value isOwner = isBelow(builder, loc, unitIndex, getIndex(builder, loc, unit.rows));
  if (parts > 1)
    isOwner = arith::AndIOp::create(builder, loc, isOwner,
                                    isEqual(builder, loc, part, getIndex(builder, loc, 0)));
  bool hasSpareRows = parts == 1 && numThreads == roundUpToWarps(unit.rows);
  auto storesBySpareRows = [&](const Place &place) {
    auto type = cast<MemRefType>(place.memref.getType());
    return hasSpareRows && gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type);
  };
  for (auto &[place, scalar] : stores) {
    if (!storesBySpareRows(place))
      continue;
    int64_t end = cast<MemRefType>(place.memref.getType()).getShape().back() - place.first;
    Value spare = addIndex(builder, loc, unitIndex, end - kSpareRows - unit.rows);
    Value at = arith::SelectOp::create(builder, loc, isOwner, unitIndex, spare);
    place.store(builder, loc, scalar, at);
  }
  emitIf(builder, loc, isOwner, [&](OpBuilder &nested) {
    for (auto &[place, scalar] : stores)
      if (!storesBySpareRows(place))
        place.store(nested, loc, scalar, row);
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
  return addAcrossThreads(builder, loc, addPartials(builder, loc, std::move(partials)));
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
// Sums
//===----------------------------------------------------------------------===//

Value UnitEmitter::getYielded(const UnitSum &sum) const {
  return body->getTerminator()->getOperand(sum.yielded);
}

/// The columns of a sum are dealt out to the threads of a row like those of matrices.
/// What threads beyond the last row or column add up is not asked for.
SmallVector<Value> UnitEmitter::addToSums(OpBuilder &builder, Location loc, ArrayRef<Place> factors,
                                          ValueRange running) {
  SmallVector<Value> next;
  DenseMap<std::pair<int64_t, int64_t>, Value> loaded;
  for (const UnitSum &sum : sums) {
    Value row = yieldedRows.at(getYielded(sum));
    if (sum.factor == kNoFactor) {
      next.push_back(arith::AddFOp::create(builder, loc, running[next.size()], row));
      continue;
    }
    for (int64_t i = 0, e = llvm::divideCeil(sum.columns, parts); i < e; ++i) {
      Value &element = loaded[{sum.factor, i}];
      if (!element) {
        Value column = addIndex(builder, loc, part, i * parts);
        if ((i + 1) * parts > sum.columns)
          column = minIndex(builder, loc, column, getIndex(builder, loc, sum.columns - 1));
        element = factors[sum.factor].load(builder, loc, column);
      }
      next.push_back(math::FmaOp::create(builder, loc, row, element, running[next.size()]));
    }
  }
  return next;
}

void UnitEmitter::forEachSum(OpBuilder &builder, Location loc, ValueRange running,
                             SumElement body) {
  for (auto [number, sum] : llvm::enumerate(sums)) {
    int64_t count = llvm::divideCeil(sum.columns, parts);
    ValueRange own = running.take_front(count);
    running = running.drop_front(count);
    Value isOwner =
        isBelow(builder, loc, unitIndex, getIndex(builder, loc, getNumRows(getYielded(sum))));
    emitIf(builder, loc, isOwner, [&, number = number, sum = sum](OpBuilder &nested) {
      for (auto [i, value] : llvm::enumerate(own)) {
        Value column = addIndex(nested, loc, part, i * parts);
        auto give = [&, value = value](OpBuilder &inside) {
          body(inside, number, unitIndex, column, value);
        };
        if (static_cast<int64_t>(i + 1) * parts <= sum.columns)
          give(nested);
        else
          emitIf(nested, loc, isBelow(nested, loc, column, getIndex(nested, loc, sum.columns)),
                 give);
      }
    });
  }
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
