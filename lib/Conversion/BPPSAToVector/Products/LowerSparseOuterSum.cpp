//===- LowerSparseOuterSum.cpp - gradients of kept weights ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SparseLoops.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

/// Sums entries `[begin, end)` over the samples of `range`.
static Value emitRangeSum(OpBuilder &builder, jacobian::SparseOuterSumOp op, Value begin, Value end,
                          const SampleRange &range) {
  Location loc = op.getLoc();
  Type elementType = cast<MemRefType>(op.getLhs().getType()).getElementType();
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(SampleBlock{Value(), range.width}.getType(elementType)));
  auto addEntries = [&](OpBuilder &inBlock, Location, Value sample, ValueRange outer) {
    auto entries = scf::ForOp::create(
        inBlock, loc, begin, end, getIndex(inBlock, loc, 1), outer,
        [&](OpBuilder &nested, Location, Value entry, ValueRange sums) {
          auto load = [&](Value array, Value rows) {
            return loadSamples(nested, loc, array, loadIndex(nested, loc, rows, entry),
                               {sample, range.width});
          };
          Value lhs = load(op.getLhs(), op.getLhsRows()), rhs = load(op.getRhs(), op.getRhsRows());
          scf::YieldOp::create(nested, loc, multiplyAdd(nested, loc, lhs, rhs, sums[0]));
        });
    scf::YieldOp::create(inBlock, loc, entries.getResults());
  };
  auto blocks = scf::ForOp::create(builder, loc, range.first, range.last,
                                   getIndex(builder, loc, range.width), zero, addEntries);
  Value sum = blocks.getResult(0);
  if (range.width == 1)
    return sum;
  return vector::ReductionOp::create(builder, loc, vector::CombiningKind::ADD, sum);
}

static void emitStores(OpBuilder &builder, Location loc, int64_t count,
                       function_ref<void(OpBuilder &, Value)> emit) {
  emitRowTasks(
      builder, loc, count, /*mostTasks=*/16, [&](OpBuilder &inTask, Value begin, Value end) {
        emitFor(inTask, loc, begin, end, 1, [&](OpBuilder &nested, Value i) { emit(nested, i); });
      });
}

static void emitClear(OpBuilder &builder, Location loc, Value array) {
  auto type = cast<MemRefType>(array.getType());
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type.getElementType()));
  emitStores(builder, loc, type.getDimSize(0), [&](OpBuilder &nested, Value i) {
    memref::StoreOp::create(nested, loc, zero, array, i);
  });
}

/// Uses nontemporal stores of cache lines, to which the array must be aligned.
static void emitStreamedClear(OpBuilder &builder, Location loc, Value array, int64_t lineBytes) {
  auto type = cast<MemRefType>(array.getType());
  int64_t width = 8 * lineBytes / type.getElementTypeBitWidth();
  auto line = VectorType::get(width, type.getElementType());
  Value zeros = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(line));
  emitStores(builder, loc, type.getDimSize(0) / width, [&](OpBuilder &nested, Value i) {
    Value first = mulIndex(nested, loc, i, getIndex(nested, loc, width));
    vector::StoreOp::create(nested, loc, zeros, array, first, /*nontemporal=*/true,
                            llvm::MaybeAlign(lineBytes));
  });
}

/// Large arrays bypass the caches: few lines are written again soon, and full lines need not be
/// read.
static void emitZeros(OpBuilder &builder, Location loc, Value array) {
  constexpr int64_t kStreamedBytes = 1 << 20, kLineBytes = 64;
  auto type = cast<MemRefType>(array.getType());
  int64_t bytes = type.getDimSize(0) * type.getElementTypeBitWidth() / 8;
  if (bytes < kStreamedBytes || bytes % kLineBytes != 0)
    return emitClear(builder, loc, array);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, array);
  Value rest = arith::RemUIOp::create(builder, loc, address, getIndex(builder, loc, kLineBytes));
  Value isAligned = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest,
                                          getIndex(builder, loc, 0));
  scf::IfOp::create(
      builder, loc, isAligned,
      [&](OpBuilder &then, Location) {
        emitStreamedClear(then, loc, array, kLineBytes);
        scf::YieldOp::create(then, loc);
      },
      [&](OpBuilder &otherwise, Location) {
        emitClear(otherwise, loc, array);
        scf::YieldOp::create(otherwise, loc);
      });
}

void bppsa::lowerSparseOuterSum(jacobian::SparseOuterSumOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value destination = op.getDestination();
  Value numSamples = getDim(builder, loc, op.getLhs(), 1);
  emitZeros(builder, loc, destination);
  int64_t count = cast<MemRefType>(op.getPositions().getType()).getDimSize(0);
  emitRowTasks(
      builder, loc, count, /*mostTasks=*/64, [&](OpBuilder &inTask, Value begin, Value end) {
        SmallVector<SampleRange> ranges = splitSamples(inTask, loc, numSamples);
        emitFor(inTask, loc, begin, end, 1, [&](OpBuilder &nested, Value weight) {
          Value first = loadIndex(nested, loc, op.getStarts(), weight);
          Value last = loadIndex(nested, loc, op.getStarts(), addIndex(nested, loc, weight, 1));
          Value sum;
          for (const SampleRange &range : ranges) {
            Value part = emitRangeSum(nested, op, first, last, range);
            sum = sum ? arith::AddFOp::create(nested, loc, sum, part) : part;
          }
          memref::StoreOp::create(nested, loc, sum, destination,
                                  loadIndex(nested, loc, op.getPositions(), weight));
        });
      });
}
