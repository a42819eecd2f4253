//===- LowerNumericProducts.cpp - products over index lists ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Values of samples stand side by side, so a vector holds the same entry of some
// samples: blocks of sixteen, then of four, then one by one. Indices are read once
// for a block. Threads share out rows of the result, each of which is summed in a
// fixed order.
//
// A row of a product of two sparse matrices is summed in an array of all columns
// (Gustavson's algorithm), of which only the possible nonzeros are cleared and
// read.
//
//===----------------------------------------------------------------------===//

#include "BPPSAToVector.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace bppsa;

/// Sums that a row is split into, so that additions need not wait for each other.
static constexpr int64_t kNumSums = 4;

namespace {
/// Some samples whose values one vector holds; one sample or none is a scalar.
struct SampleBlock {
  /// Null where values do not depend on samples.
  Value first;
  int64_t width = 1;

  Type getType(Type elementType) const {
    return width == 1 ? elementType : VectorType::get(width, elementType);
  }
};

/// A matrix of an op, and how its entries are read.
struct MatrixReader {
  Value values, starts, columns, positions;
  int64_t cols;

  bool isPerSample() const { return cast<MemRefType>(values.getType()).getRank() == 2; }
  /// The first entry of `row`.
  Value getStart(OpBuilder &builder, Location loc, Value row) const;
  /// The column of `entry`, of the row that begins with the entry `start`.
  Value getColumn(OpBuilder &builder, Location loc, Value entry, Value start) const;
  /// The value of `entry` for the samples of `block`.
  Value load(OpBuilder &builder, Location loc, Value entry, const SampleBlock &block) const;
};
} // namespace

static Value loadIndex(OpBuilder &builder, Location loc, Value indices, Value at) {
  Value index = memref::LoadOp::create(builder, loc, indices, at);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), index);
}

/// Row `row` of `[N, B]`, or element `row` of `[N]` for all samples.
static Value loadSamples(OpBuilder &builder, Location loc, Value array, Value row,
                         const SampleBlock &block) {
  auto type = cast<MemRefType>(array.getType());
  if (type.getRank() == 2 && block.width > 1)
    return vector::LoadOp::create(builder, loc,
                                  cast<VectorType>(block.getType(type.getElementType())), array,
                                  ValueRange{row, block.first});
  if (type.getRank() == 2)
    return memref::LoadOp::create(builder, loc, array, ValueRange{row, block.first});
  Value value = memref::LoadOp::create(builder, loc, array, row);
  if (block.width == 1)
    return value;
  return vector::BroadcastOp::create(builder, loc, block.getType(type.getElementType()), value);
}

static void storeSamples(OpBuilder &builder, Location loc, Value value, Value array, Value row,
                         const SampleBlock &block) {
  SmallVector<Value> at = {row};
  if (cast<MemRefType>(array.getType()).getRank() == 2)
    at.push_back(block.first);
  if (isa<VectorType>(value.getType()))
    vector::StoreOp::create(builder, loc, value, array, at);
  else
    memref::StoreOp::create(builder, loc, value, array, at);
}

static Value multiplyAdd(OpBuilder &builder, Location loc, Value lhs, Value rhs, Value sum) {
  if (isa<VectorType>(sum.getType()))
    return vector::FMAOp::create(builder, loc, lhs, rhs, sum);
  return math::FmaOp::create(builder, loc, lhs, rhs, sum);
}

Value MatrixReader::getStart(OpBuilder &builder, Location loc, Value row) const {
  return starts
             ? loadIndex(builder, loc, starts, row)
             : arith::MulIOp::create(builder, loc, row, getIndex(builder, loc, cols)).getResult();
}

Value MatrixReader::getColumn(OpBuilder &builder, Location loc, Value entry, Value start) const {
  return columns ? loadIndex(builder, loc, columns, entry)
                 : arith::SubIOp::create(builder, loc, entry, start).getResult();
}

Value MatrixReader::load(OpBuilder &builder, Location loc, Value entry,
                         const SampleBlock &block) const {
  Value at = positions ? loadIndex(builder, loc, positions, entry) : entry;
  return loadSamples(builder, loc, values, at, block);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {
/// Samples `[first, last)` in blocks of `width`.
struct SampleRange {
  Value first, last;
  int64_t width;
};
} // namespace

/// Blocks of sixteen, of four and of one that cover `numSamples` samples.
static SmallVector<SampleRange> splitSamples(OpBuilder &builder, Location loc, Value numSamples) {
  SmallVector<SampleRange> ranges;
  Value first = getIndex(builder, loc, 0);
  for (int64_t width : {16, 4, 1}) {
    Value rest = arith::SubIOp::create(builder, loc, numSamples, first);
    Value size = getIndex(builder, loc, width);
    Value covered =
        arith::MulIOp::create(builder, loc, arith::DivUIOp::create(builder, loc, rest, size), size);
    Value last = arith::AddIOp::create(builder, loc, first, covered);
    ranges.push_back({first, last, width});
    first = last;
  }
  return ranges;
}

/// Calls `body` for blocks that cover `numSamples` samples; once, without samples,
/// where that is null.
static void emitSampleBlocks(OpBuilder &builder, Location loc, Value numSamples,
                             function_ref<void(OpBuilder &, const SampleBlock &)> body) {
  if (!numSamples)
    return body(builder, {});
  for (const SampleRange &range : splitSamples(builder, loc, numSamples))
    emitFor(builder, loc, range.first, range.last, range.width,
            [&](OpBuilder &nested, Value sample) { body(nested, {sample, range.width}); });
}

/// Calls `emitTask(first, last)` for tasks of rows, `mostTasks` at most, that threads
/// share.
static void emitRowTasks(OpBuilder &builder, Location loc, int64_t rows, int64_t mostTasks,
                         function_ref<void(OpBuilder &, Value, Value)> emitTask) {
  if (rows == 0)
    return;
  int64_t taskRows = (rows + mostTasks - 1) / mostTasks;
  int64_t numTasks = (rows + taskRows - 1) / taskRows;
  emitParallel(builder, loc, getIndex(builder, loc, numTasks), [&](OpBuilder &nested, Value task) {
    Value size = getIndex(nested, loc, taskRows);
    Value first = arith::MulIOp::create(nested, loc, task, size);
    Value last = arith::MinUIOp::create(
        nested, loc, arith::AddIOp::create(nested, loc, first, size), getIndex(nested, loc, rows));
    emitTask(nested, first, last);
  });
}

/// The number of samples of the arrays among `arrays` that have one; null where all
/// samples share every array.
static Value getNumSamples(OpBuilder &builder, Location loc, ArrayRef<Value> arrays) {
  for (Value array : arrays)
    if (cast<MemRefType>(array.getType()).getRank() == 2)
      return getDim(builder, loc, array, 1);
  return {};
}

//===----------------------------------------------------------------------===//
// A matrix and cotangents
//===----------------------------------------------------------------------===//

/// The sum of the products of entries `[first, last)`, in `kNumSums` parts.
static Value emitRowSum(OpBuilder &builder, Location loc, const MatrixReader &matrix,
                        Value cotangent, Value first, Value last, const SampleBlock &block) {
  Type elementType = cast<MemRefType>(cotangent.getType()).getElementType();
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(block.getType(elementType)));
  auto addProduct = [&](OpBuilder &nested, Value entry, Value sum) {
    Value column = matrix.getColumn(nested, loc, entry, first);
    return multiplyAdd(nested, loc, matrix.load(nested, loc, entry, block),
                       loadSamples(nested, loc, cotangent, column, block), sum);
  };
  Value step = getIndex(builder, loc, kNumSums);
  Value size = arith::SubIOp::create(builder, loc, last, first);
  Value whole =
      arith::MulIOp::create(builder, loc, arith::DivUIOp::create(builder, loc, size, step), step);
  Value middle = arith::AddIOp::create(builder, loc, first, whole);
  SmallVector<Value> zeros(kNumSums, zero);
  auto parts = scf::ForOp::create(builder, loc, first, middle, step, zeros,
                                  [&](OpBuilder &nested, Location, Value entry, ValueRange sums) {
                                    SmallVector<Value> next;
                                    for (auto [i, sum] : llvm::enumerate(sums))
                                      next.push_back(
                                          addProduct(nested, addIndex(nested, loc, entry, i), sum));
                                    scf::YieldOp::create(nested, loc, next);
                                  });
  auto rest =
      scf::ForOp::create(builder, loc, middle, last, getIndex(builder, loc, 1), parts.getResult(0),
                         [&](OpBuilder &nested, Location, Value entry, ValueRange sums) {
                           scf::YieldOp::create(nested, loc, addProduct(nested, entry, sums[0]));
                         });
  Value sum = rest.getResult(0);
  for (Value part : parts.getResults().drop_front())
    sum = arith::AddFOp::create(builder, loc, sum, part);
  return sum;
}

void bppsa::lowerSparseApply(SparseApplyOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value destination = op.getDestination(), cotangent = op.getCotangent();
  MatrixReader matrix = {op.getValues(), op.getStarts(), op.getColumns(), op.getPositions(),
                         cast<MemRefType>(cotangent.getType()).getDimSize(0)};
  Value numSamples = getDim(builder, loc, cotangent, 1);
  int64_t rows = cast<MemRefType>(destination.getType()).getDimSize(0);
  emitRowTasks(builder, loc, rows, /*mostTasks=*/64,
               [&](OpBuilder &inTask, Value begin, Value end) {
                 emitFor(inTask, loc, begin, end, 1, [&](OpBuilder &inRow, Value row) {
                   Value first = matrix.getStart(inRow, loc, row);
                   Value last = matrix.getStart(inRow, loc, addIndex(inRow, loc, row, 1));
                   emitSampleBlocks(
                       inRow, loc, numSamples, [&](OpBuilder &nested, const SampleBlock &block) {
                         Value sum = emitRowSum(nested, loc, matrix, cotangent, first, last, block);
                         storeSamples(nested, loc, sum, destination, row, block);
                       });
                 });
               });
}

//===----------------------------------------------------------------------===//
// Two matrices
//===----------------------------------------------------------------------===//

namespace {
/// What the rows of a product share.
struct ProductRows {
  MatrixReader first, second, result;
  /// `[16 * columns]`: the sums of a row, with those of a block side by side and no
  /// room between columns.
  Value sums;

  void emitRow(OpBuilder &builder, Location loc, Value row, const SampleBlock &block) const;

private:
  Value loadSum(OpBuilder &builder, Location loc, Value column, int64_t width) const;
  void storeSum(OpBuilder &builder, Location loc, Value sum, Value column, int64_t width) const;
  /// Calls `body(entry, column)` for the entries of a row of a matrix.
  static void forEachEntry(OpBuilder &builder, Location loc, const MatrixReader &matrix, Value row,
                           function_ref<void(OpBuilder &, Value, Value)> body);
};
} // namespace

void ProductRows::forEachEntry(OpBuilder &builder, Location loc, const MatrixReader &matrix,
                               Value row, function_ref<void(OpBuilder &, Value, Value)> body) {
  Value first = matrix.getStart(builder, loc, row);
  Value last = matrix.getStart(builder, loc, addIndex(builder, loc, row, 1));
  emitFor(builder, loc, first, last, 1, [&](OpBuilder &nested, Value entry) {
    body(nested, entry, matrix.getColumn(nested, loc, entry, first));
  });
}

Value ProductRows::loadSum(OpBuilder &builder, Location loc, Value column, int64_t width) const {
  Type elementType = cast<MemRefType>(sums.getType()).getElementType();
  Value at = arith::MulIOp::create(builder, loc, column, getIndex(builder, loc, width));
  if (width == 1)
    return memref::LoadOp::create(builder, loc, sums, at);
  return vector::LoadOp::create(builder, loc, VectorType::get(width, elementType), sums, at);
}

void ProductRows::storeSum(OpBuilder &builder, Location loc, Value sum, Value column,
                           int64_t width) const {
  Value at = arith::MulIOp::create(builder, loc, column, getIndex(builder, loc, width));
  if (width == 1)
    memref::StoreOp::create(builder, loc, sum, sums, at);
  else
    vector::StoreOp::create(builder, loc, sum, sums, at);
}

void ProductRows::emitRow(OpBuilder &builder, Location loc, Value row,
                          const SampleBlock &block) const {
  Type elementType = cast<MemRefType>(sums.getType()).getElementType();
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(block.getType(elementType)));
  forEachEntry(builder, loc, result, row, [&](OpBuilder &nested, Value, Value column) {
    storeSum(nested, loc, zero, column, block.width);
  });
  forEachEntry(builder, loc, second, row, [&](OpBuilder &outer, Value entry, Value inner) {
    Value factor = second.load(outer, loc, entry, block);
    forEachEntry(outer, loc, first, inner, [&](OpBuilder &nested, Value other, Value column) {
      Value sum = multiplyAdd(nested, loc, factor, first.load(nested, loc, other, block),
                              loadSum(nested, loc, column, block.width));
      storeSum(nested, loc, sum, column, block.width);
    });
  });
  forEachEntry(builder, loc, result, row, [&](OpBuilder &nested, Value entry, Value column) {
    Value sum = loadSum(nested, loc, column, block.width);
    storeSamples(nested, loc, sum, result.values, entry, block);
  });
}

void bppsa::lowerSparseCompose(SparseComposeOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  int64_t cols = op.getCols();
  ProductRows product;
  product.first = {op.getFirst(), op.getFirstStarts(), op.getFirstColumns(), op.getFirstPositions(),
                   cols};
  product.second = {op.getSecond(), op.getSecondStarts(), op.getSecondColumns(),
                    op.getSecondPositions(), int64_t(op.getInner())};
  product.result = {op.getDestination(), op.getResultStarts(), op.getResultColumns(), Value(),
                    cols};
  Value numSamples = getNumSamples(builder, loc, {op.getFirst(), op.getSecond()});
  auto sumsType = MemRefType::get({16 * cols},
                                  cast<MemRefType>(op.getDestination().getType()).getElementType());
  // Few tasks: each has an array of sums.
  emitRowTasks(
      builder, loc, op.getRows(), /*mostTasks=*/16, [&](OpBuilder &inTask, Value begin, Value end) {
        ProductRows own = product;
        own.sums = memref::AllocOp::create(inTask, loc, sumsType, inTask.getI64IntegerAttr(64));
        emitFor(inTask, loc, begin, end, 1, [&](OpBuilder &inRow, Value row) {
          emitSampleBlocks(inRow, loc, numSamples,
                           [&](OpBuilder &nested, const SampleBlock &block) {
                             own.emitRow(nested, loc, row, block);
                           });
        });
        memref::DeallocOp::create(inTask, loc, own.sums);
      });
}

//===----------------------------------------------------------------------===//
// Weights that are not pruned
//===----------------------------------------------------------------------===//

/// The products of rows of entries `[begin, end)` for the samples of `range`, summed.
static Value emitRangeSum(OpBuilder &builder, SparseOuterSumOp op, Value begin, Value end,
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

/// Writes zero to every element of `array` `[N]`.
static void emitClear(OpBuilder &builder, Location loc, Value array) {
  auto type = cast<MemRefType>(array.getType());
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type.getElementType()));
  emitRowTasks(builder, loc, type.getDimSize(0), /*mostTasks=*/16,
               [&](OpBuilder &inTask, Value begin, Value end) {
                 emitFor(inTask, loc, begin, end, 1, [&](OpBuilder &nested, Value i) {
                   memref::StoreOp::create(nested, loc, zero, array, i);
                 });
               });
}

void bppsa::lowerSparseOuterSum(SparseOuterSumOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value destination = op.getDestination();
  Value numSamples = getDim(builder, loc, op.getLhs(), 1);
  emitClear(builder, loc, destination);
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
