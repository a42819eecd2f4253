//===- CooperativeStep.cpp - a step of blocks that share its rows ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CooperativeLoop.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace bppsa;

/// Parts of vectors whose loads may be under way at a time: a register for each of 16 entries
/// of a part.
static constexpr int64_t kPartsTogether = 4;

/// With so many entries of matrices, a lane has registers for more loads.
static constexpr int64_t kManyEntries = 96;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

SmallVector<Value> CooperativeLoop::emitStep(OpBuilder &builder, Value atPosition,
                                             ValueRange carried) {
  position = atPosition;
  Value one = getIndex(builder, loc, 1);
  current = arith::AndIOp::create(builder, loc, position, one);
  next = arith::XOrIOp::create(builder, loc, current, one);
  passed = carried.back();
  own.clear();
  for (unsigned i = 0; i < numStates; ++i)
    own[body->getArgument(firstState + i)] = carried[i];
  for (auto [source, value] : llvm::zip_equal(sources, carried.slice(numStates, sources.size())))
    own[source] = value;
  bool isWaitedFor = false;
  int64_t stage = plan.getUnits().front().stage;
  for (const RowUnit &unit : plan.getUnits()) {
    if (unit.stage != stage && isWaitedFor) {
      awaitGroup(builder);
      isWaitedFor = false;
    }
    stage = unit.stage;
    emitUnit(builder, unit);
    isWaitedFor |=
        llvm::any_of(unit.stored, [&](Value value) { return exchanged.contains(value); });
  }
  SmallVector<Value> after;
  bool handsOn = false;
  for (unsigned i = 0; i < numStates; ++i) {
    after.push_back(own.lookup(body->getTerminator()->getOperand(i)));
    handsOn |= exchanged.contains(body->getArgument(firstState + i));
  }
  // Asked for before the barrier, they come while the block waits.
  Value last = addIndex(builder, loc, loop->numSteps, -1);
  Value following = minIndex(builder, loc, addIndex(builder, loc, position, 1), last);
  llvm::append_range(after, loadSources(builder, following));
  if (handsOn)
    awaitGroup(builder);
  after.push_back(passed);
  return after;
}

void CooperativeLoop::emitUnit(OpBuilder &builder, const RowUnit &unit) {
  RowValues values;
  emitSums(builder, unit, values);
  Value at = minIndex(builder, loc, row, getIndex(builder, loc, unit.rows - 1));
  for (const ProductSum &sum : unit.sums)
    if (sum.addend) {
      Value addend = getRow(builder, loc, sum.addend, unit, at, values);
      Value &total = values[sum.result];
      total = arith::AddFOp::create(builder, loc, total, addend);
    }
  SmallVector<std::pair<Value, Value>> stored;
  for (Value value : unit.stored)
    stored.emplace_back(value, getStoredRow(builder, loc, value, unit, at, values));
  for (auto [value, scalar] : stored)
    own[value] = scalar;
  storeUnit(builder, unit);
}

/// To where all blocks read it, and to where the body yields it.
void CooperativeLoop::storeUnit(OpBuilder &builder, const RowUnit &unit) {
  emitIf(builder, loc, ownsRow(builder, unit.rows), [&](OpBuilder &nested) {
    auto exchange = [&](Value value, Value copy, Value scalar) {
      if (auto found = exchanged.find(value); found != exchanged.end())
        getExchange(found->second, copy).store(nested, loc, scalar, row);
    };
    for (Value value : unit.stored) {
      Value scalar = own.lookup(value);
      if (!isState(value))
        exchange(value, current, scalar);
      for (auto [i, yielded] : llvm::enumerate(body->getTerminator()->getOperands())) {
        if (yielded != value)
          continue;
        if (i < numStates)
          exchange(body->getArgument(firstState + i), next, scalar);
        for (const Place &target : loop->getTargets(nested, i, position, sample))
          target.store(nested, loc, scalar, row);
      }
    }
  });
}

Value CooperativeLoop::loadRow(OpBuilder &, Location, Value value, Value) {
  return own.lookup(value);
}

Value CooperativeLoop::loadOtherRow(OpBuilder &builder, Location at, Value value, Value other) {
  if (auto found = exchanged.find(value); found != exchanged.end())
    return getExchange(found->second, current).load(builder, at, other);
  unsigned argument = cast<BlockArgument>(value).getArgNumber();
  return loop->getSource(builder, argument, position, sample).load(builder, at, other);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Of each row of the warp, entries 4 l to 4 l + 3 of each 128 for lane l; zero beyond the
/// last column.
void CooperativeLoop::loadMatrices(OpBuilder &builder) {
  matrixParts.clear();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(builder.getF32Type()));
  Value firstColumn = mulIndex(builder, loc, lane, getIndex(builder, loc, kLoadedTogether));
  auto load = [&](MatVecOp product) {
    int64_t rows = getNumRows(product.getResult()), columns = getNumRows(product.getVector());
    for (int64_t r = 0; r < rowsOfWarp; ++r) {
      Value at = minIndex(builder, loc, addIndex(builder, loc, firstRow, r),
                          getIndex(builder, loc, rows - 1));
      for (int64_t base = 0; base < columns; base += kLoadedTogether * kWarpThreads)
        for (int64_t k = 0; k < kLoadedTogether; ++k) {
          Value column = addIndex(builder, loc, firstColumn, base + k);
          bool isWhole = base + kLoadedTogether * kWarpThreads <= columns;
          Value end = getIndex(builder, loc, columns - 1);
          Value entry = loadMatrixEntry(builder, loc, product, at,
                                        isWhole ? column : minIndex(builder, loc, column, end));
          if (!isWhole) {
            Value exists =
                arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, column, end);
            entry = arith::SelectOp::create(builder, loc, exists, entry, zero);
          }
          matrixParts[product].push_back(entry);
        }
    }
  };
  for (const RowUnit &unit : plan.getUnits())
    for (const ProductSum &sum : unit.sums)
      llvm::for_each(sum.products, load);
}

/// The sums of this lane's row and sample, by way of shared memory, where the lanes that have
/// summed up leave them.
void CooperativeLoop::emitSums(OpBuilder &builder, const RowUnit &unit, RowValues &values) {
  if (unit.sums.empty())
    return;
  emitWarpBarrier(builder, loc);
  Value firstSlot = mulIndex(builder, loc, group, numSamples);
  emitLoop(builder, loc, getIndex(builder, loc, 0), numTiles, [&](OpBuilder &nested, Value tile) {
    Value first =
        addIndex(nested, loc, firstSlot, mulIndex(nested, loc, tile, getIndex(nested, loc, kTile)));
    storeSums(nested, accumulate(nested, unit, first), tile);
  });
  emitWarpBarrier(builder, loc);
  // Lanes without a sample read what is there.
  Value count = mulIndex(builder, loc, numTiles, getIndex(builder, loc, kTile * rowsOfWarp));
  Value at = minIndex(builder, loc, lane, addIndex(builder, loc, count, -1));
  for (auto [i, sum] : llvm::enumerate(unit.sums)) {
    Value place = addIndex(builder, loc, at, i * kWarpThreads);
    values[sum.result] = memref::LoadOp::create(builder, loc, sums, ValueRange{warp, place});
  }
}

/// What this lane adds to each sum, sample and row, in this order. A vector is loaded once for
/// all rows, an entry of a matrix used for all samples.
SmallVector<Value> CooperativeLoop::accumulate(OpBuilder &builder, const RowUnit &unit,
                                               Value firstSample) {
  Type element = builder.getF32Type();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  SmallVector<Value> totals(unit.sums.size() * kTile * rowsOfWarp, zero);
  llvm::SmallSetVector<Value, 4> factors;
  for (const ProductSum &sum : unit.sums)
    for (MatVecOp product : sum.products)
      factors.insert(product.getVector());
  auto type = VectorType::get(kLoadedTogether, element);
  Value firstColumn = mulIndex(builder, loc, lane, getIndex(builder, loc, kLoadedTogether));
  int64_t numLoaded = 0;
  for (Value vector : factors) {
    const Exchange &exchange = exchanged.find(vector)->second;
    int64_t numParts = llvm::divideCeil(exchange.rows, kLoadedTogether * kWarpThreads);
    for (int64_t part = 0; part < numParts; ++part, ++numLoaded) {
      // ptxas moves all loads to the begin else, to more registers than there are.
      if (numEntries > kManyEntries && numLoaded > 0 && numLoaded % kPartsTogether == 0)
        LLVM::FenceOp::create(builder, loc, LLVM::AtomicOrdering::acq_rel, "block");
      Value column = addIndex(builder, loc, firstColumn,
                              exchange.first + part * kLoadedTogether * kWarpThreads);
      SmallVector<Value> loaded;
      for (int64_t s = 0; s < kTile; ++s)
        loaded.push_back(vector::LoadOp::create(
            builder, loc, type, vectors,
            ValueRange{current, addIndex(builder, loc, firstSample, s), column},
            /*nontemporal=*/false, llvm::MaybeAlign(kLoadedTogether * sizeof(float))));
      for (int64_t k = 0; k < kLoadedTogether; ++k)
        for (int64_t s = 0; s < kTile; ++s) {
          Value factor = vector::ExtractOp::create(builder, loc, loaded[s], k);
          for (auto [i, sum] : llvm::enumerate(unit.sums))
            for (MatVecOp product : sum.products) {
              if (product.getVector() != vector)
                continue;
              ArrayRef<Value> entries = matrixParts[product];
              for (int64_t r = 0; r < rowsOfWarp; ++r) {
                Value &total = totals[(i * kTile + s) * rowsOfWarp + r];
                Value entry = entries[(r * numParts + part) * kLoadedTogether + k];
                total = math::FmaOp::create(builder, loc, entry, factor, total);
              }
            }
        }
    }
  }
  return totals;
}

/// Sums `values` over the lanes of a warp: halves of the list go to halves of the lanes, until
/// each lane has one total. Its number in the list, and whether no other lane has it too.
static std::pair<Value, Value> addAcrossLanes(OpBuilder &builder, Location loc, Value lane,
                                              SmallVector<Value> &values, Value &isOwner) {
  Value zero = getIndex(builder, loc, 0), number = zero;
  isOwner = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  for (int64_t offset = kWarpThreads / 2; offset > 0; offset /= 2) {
    Value bit = arith::AndIOp::create(builder, loc, lane, getIndex(builder, loc, offset));
    Value isLower = isEqual(builder, loc, bit, zero);
    if (values.size() == 1) {
      values[0] = arith::AddFOp::create(builder, loc, values[0],
                                        emitButterfly(builder, loc, values[0], offset));
      isOwner = arith::AndIOp::create(builder, loc, isOwner, isLower);
      continue;
    }
    size_t half = values.size() / 2;
    for (size_t i = 0; i < half; ++i) {
      Value low = values[i], high = values[i + half];
      Value sent = arith::SelectOp::create(builder, loc, isLower, high, low);
      Value kept = arith::SelectOp::create(builder, loc, isLower, low, high);
      values[i] =
          arith::AddFOp::create(builder, loc, kept, emitButterfly(builder, loc, sent, offset));
    }
    values.resize(half);
    Value upper =
        arith::SelectOp::create(builder, loc, isLower, zero, getIndex(builder, loc, half));
    number = addIndex(builder, loc, number, upper);
  }
  return {values[0], number};
}

/// Leaves the sums over all lanes in shared memory: those of a sample and row at its lane.
void CooperativeLoop::storeSums(OpBuilder &builder, ArrayRef<Value> totals, Value tile) {
  int64_t lanesOfTile = kTile * rowsOfWarp;
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(builder.getF32Type()));
  Value firstLane = mulIndex(builder, loc, tile, getIndex(builder, loc, lanesOfTile));
  for (size_t first = 0; first < totals.size(); first += kWarpThreads) {
    size_t count = std::min<size_t>(kWarpThreads, totals.size() - first);
    SmallVector<Value> part(totals.slice(first, count));
    part.resize(llvm::PowerOf2Ceil(count), zero);
    Value isOwner;
    auto [total, number] = addAcrossLanes(builder, loc, lane, part, isOwner);
    Value exists = isBelow(builder, loc, number, getIndex(builder, loc, count));
    isOwner = arith::AndIOp::create(builder, loc, isOwner, exists);
    SmallVector<Value> digits = splitIndex(builder, loc, addIndex(builder, loc, number, first),
                                           {Value(), getIndex(builder, loc, lanesOfTile)});
    Value place = mulIndex(builder, loc, digits[0], getIndex(builder, loc, kWarpThreads));
    place = addIndex(builder, loc, place, addIndex(builder, loc, firstLane, digits[1]));
    emitIf(builder, loc, isOwner, [&, total = total](OpBuilder &nested) {
      memref::StoreOp::create(nested, loc, total, sums, ValueRange{warp, place});
    });
  }
}
