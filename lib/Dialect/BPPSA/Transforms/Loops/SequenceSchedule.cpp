//===- SequenceSchedule.cpp - schedules sequences in rows -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SequenceSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

/// The lanes of the widest vector.
static constexpr int64_t kRowsOfBlock = 16;

namespace {
class ScheduleBuilder {
public:
  ScheduleBuilder(OpBuilder &b, Location loc, Value lengths, Value steps)
      : b(b), loc(loc), lengths(lengths), steps(steps), zero(constant(0)), one(constant(1)),
        samples(tensor::DimOp::create(b, loc, lengths, zero)) {}

  SequenceSchedule build();

private:
  using Body = llvm::function_ref<SmallVector<Value>(Value iv, ValueRange carried)>;

  Value constant(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value max(Value x, Value y) { return arith::MaxSIOp::create(b, loc, x, y); }
  Value min(Value x, Value y) { return arith::MinSIOp::create(b, loc, x, y); }
  Value isLess(Value x, Value y) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value get(Value tensor, ValueRange indices) {
    return tensor::ExtractOp::create(b, loc, tensor, indices);
  }
  Value set(Value tensor, ValueRange indices, Value element) {
    return tensor::InsertOp::create(b, loc, element, tensor, indices);
  }
  Value makeFilled(ArrayRef<OpFoldResult> sizes, int64_t value);
  ResultRange loop(Value lower, Value upper, ValueRange inits, Body body);

  Value makeLengths();
  OpFoldResult chooseRows(Value length);
  /// Emits a bound for the slots that does not depend on lengths.
  Value makeBound();
  /// Orders sequences by decreasing length; the sort is stable.
  Value makeOrder(Value length);
  /// Returns the slots used in each row.
  Value assignRows(SequenceSchedule &schedule);
  void makeTables(SequenceSchedule &schedule);

  OpBuilder &b;
  Location loc;
  Value lengths, steps, zero, one, samples;
};
} // namespace

Value ScheduleBuilder::makeFilled(ArrayRef<OpFoldResult> sizes, int64_t value) {
  Value empty = tensor::EmptyOp::create(b, loc, sizes, b.getIndexType());
  return linalg::FillOp::create(b, loc, constant(value), empty).getResult(0);
}

ResultRange ScheduleBuilder::loop(Value lower, Value upper, ValueRange inits, Body body) {
  auto loop = scf::ForOp::create(b, loc, lower, upper, one, inits,
                                 [&](OpBuilder &, Location, Value iv, ValueRange carried) {
                                   scf::YieldOp::create(b, loc, body(iv, carried));
                                 });
  return loop.getResults();
}

Value ScheduleBuilder::makeLengths() {
  Value empty = makeFilled(tensor::getMixedSizes(b, loc, lengths), 0);
  return loop(zero, samples, empty, [&](Value sample, ValueRange carried) -> SmallVector<Value> {
    Value given = arith::IndexCastOp::create(b, loc, b.getIndexType(), get(lengths, sample));
    return {set(carried[0], sample, min(max(given, zero), steps))};
  })[0];
}

OpFoldResult ScheduleBuilder::chooseRows(Value length) {
  auto type = cast<RankedTensorType>(length.getType());
  if (!type.isDynamicDim(0) && type.getDimSize(0) <= kRowsOfBlock)
    return b.getIndexAttr(type.getDimSize(0));
  ResultRange sums = loop(zero, samples, {zero, zero}, [&](Value sample, ValueRange carried) {
    Value found = get(length, sample);
    return SmallVector<Value>{add(carried[0], found), max(carried[1], found)};
  });
  Value total = sums[0], longest = sums[1];
  Value blockSize = constant(kRowsOfBlock);
  Value blocks = arith::CeilDivSIOp::create(b, loc, samples, blockSize);
  Value large = constant(std::numeric_limits<int64_t>::max());
  ResultRange best =
      loop(one, add(blocks, one), {samples, large}, [&](Value count, ValueRange carried) {
        Value rows = min(arith::MulIOp::create(b, loc, count, blockSize), samples);
        Value even = arith::CeilDivSIOp::create(b, loc, total, rows);
        Value cost = arith::MulIOp::create(b, loc, count, max(even, longest));
        Value isWorse = isLess(carried[1], cost);
        return SmallVector<Value>{select(isWorse, carried[0], rows), min(carried[1], cost)};
      });
  return min(best[0], samples);
}

/// A row takes at most an even share plus the longest sequence, so all blocks take at most twice
/// the slots of one row per sample.
Value ScheduleBuilder::makeBound() {
  Value blocks = arith::CeilDivSIOp::create(b, loc, samples, constant(kRowsOfBlock));
  Value slots =
      arith::MulIOp::create(b, loc, arith::MulIOp::create(b, loc, blocks, steps), constant(2));
  return max(slots, one);
}

Value ScheduleBuilder::makeOrder(Value length) {
  Value empty = makeFilled({samples}, 0);
  return loop(zero, samples, empty, [&](Value sample, ValueRange carried) -> SmallVector<Value> {
    Value own = get(length, sample);
    Value before = loop(zero, samples, zero, [&](Value other, ValueRange count) {
      Value found = get(length, other);
      // Earlier sequences of equal length come first.
      Value bound = select(isLess(other, sample), own, add(own, one));
      return SmallVector<Value>{add(count[0], select(isLess(found, bound), zero, one))};
    })[0];
    return {set(carried[0], before, sample)};
  })[0];
}

Value ScheduleBuilder::assignRows(SequenceSchedule &schedule) {
  Value order = makeOrder(schedule.length);
  Value rows = getValueOrCreateConstantIndexOp(b, loc, schedule.rows);
  SmallVector<Value> empty = {makeFilled({schedule.rows}, 0), makeFilled({samples}, 0),
                              makeFilled({samples}, 0)};
  ResultRange laid = loop(zero, samples, empty, [&](Value place, ValueRange carried) {
    Value taken = carried[0], sample = get(order, place);
    Value first = get(taken, zero);
    ResultRange least =
        loop(one, rows, {zero, first}, [&](Value row, ValueRange best) -> SmallVector<Value> {
          Value here = get(taken, row);
          return {select(isLess(here, best[1]), row, best[0]), min(best[1], here)};
        });
    Value end = add(least[1], get(schedule.length, sample));
    return SmallVector<Value>{set(taken, least[0], end), set(carried[1], sample, least[0]),
                              set(carried[2], sample, least[1])};
  });
  schedule.row = laid[1];
  schedule.start = laid[2];
  return laid[0];
}

void ScheduleBuilder::makeTables(SequenceSchedule &schedule) {
  SmallVector<OpFoldResult> sizes = {schedule.slots, schedule.rows};
  SmallVector<Value> empty = {makeFilled(sizes, -1), makeFilled(sizes, -1)};
  ResultRange tables = loop(zero, samples, empty, [&](Value sample, ValueRange carried) {
    Value row = get(schedule.row, sample), start = get(schedule.start, sample);
    ResultRange filled =
        loop(zero, get(schedule.length, sample), carried,
             [&](Value step, ValueRange both) -> SmallVector<Value> {
               Value slot = add(start, step);
               return {set(both[0], {slot, row}, sample), set(both[1], {slot, row}, step)};
             });
    return SmallVector<Value>(filled);
  });
  schedule.sequence = tables[0];
  schedule.step = tables[1];
}

SequenceSchedule ScheduleBuilder::build() {
  SequenceSchedule schedule;
  schedule.length = makeLengths();
  schedule.rows = chooseRows(schedule.length);
  Value taken = assignRows(schedule);
  Value rows = getValueOrCreateConstantIndexOp(b, loc, schedule.rows);
  Value longest = loop(zero, rows, one, [&](Value row, ValueRange carried) {
    return SmallVector<Value>{max(carried[0], get(taken, row))};
  })[0];
  // Residuals need a size bound known in advance.
  schedule.slots = min(longest, makeBound());
  makeTables(schedule);
  return schedule;
}

SequenceSchedule bppsa::buildSequenceSchedule(OpBuilder &builder, Location loc, Value lengths,
                                              Value steps) {
  return ScheduleBuilder(builder, loc, lengths, steps).build();
}
