//===- LaunchSparse.cpp - launches of sparse products ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Only the numeric phase; patterns are constants (PlanSparseProducts.cpp).
//
//===----------------------------------------------------------------------===//

#include "GraphToGPU.h"
#include "WarpRows.h"

using namespace mlir;
using namespace bppsa;

static Value getZero(OpBuilder &builder, Location loc, Value array) {
  Type type = cast<MemRefType>(array.getType()).getElementType();
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

namespace {
struct EntryRange {
  Value first, last;
};
} // namespace

static EntryRange getEntries(OpBuilder &builder, Location loc, const MatrixReader &matrix,
                             Value row) {
  Value next = addIndex(builder, loc, row, 1);
  return {matrix.getStart(builder, loc, row), matrix.getStart(builder, loc, next)};
}

void bppsa::launchSparseApply(jacobian::SparseApplyOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value destination = op.getDestination(), cotangent = op.getCotangent();
  MatrixReader matrix = {op.getValues(), op.getStarts(), op.getColumns(), op.getPositions(),
                         cast<MemRefType>(cotangent.getType()).getDimSize(0)};
  auto emitRow = [&](OpBuilder &inRow, const WarpRow &warp) {
    EntryRange range = getEntries(inRow, loc, matrix, warp.row);
    warp.forEachSample(inRow, [&](OpBuilder &nested, const SampleBlock &sample, Value isOwn) {
      auto addProduct = [&](OpBuilder &inEntry, Value entry, Value sum) {
        Value column = matrix.getColumn(inEntry, loc, entry, range.first);
        return multiplyAdd(inEntry, loc, matrix.load(inEntry, loc, entry, sample),
                           loadSamples(inEntry, loc, cotangent, column, sample), sum);
      };
      Value sum = warp.foldEntries(nested, range.first, range.last,
                                   getZero(nested, loc, destination), addProduct);
      sum = warp.addParts(nested, sum);
      Value isWriter = arith::AndIOp::create(nested, loc, isOwn, warp.isFirstPart(nested));
      emitIf(nested, loc, isWriter, [&](OpBuilder &writer) {
        storeSamples(writer, loc, sum, destination, warp.row, sample);
      });
    });
  };
  emitWarpRows(builder, loc, cast<MemRefType>(destination.getType()).getDimSize(0),
               getDim(builder, loc, cotangent, 1), emitRow);
}

namespace {
/// A row of a product by Gustavson's algorithm. A row has each column once, so no two lanes add to
/// the same element at once.
struct ProductRow {
  Location loc;
  MatrixReader first, second, result;
  const WarpRow &warp;

  void emit(OpBuilder &builder) const {
    EntryRange own = getEntries(builder, loc, result, warp.row);
    warp.forEachSample(builder, [&](OpBuilder &nested, const SampleBlock &sample, Value isOwn) {
      Value zero = getZero(nested, loc, result.values);
      forEachOwnEntry(nested, own, isOwn, [&](OpBuilder &inEntry, Value entry) {
        storeSamples(inEntry, loc, zero, result.values, entry, sample);
      });
      emitWarpBarrier(nested, loc);
      EntryRange factors = getEntries(nested, loc, second, warp.row);
      emitLoop(nested, loc, factors.first, factors.last, [&](OpBuilder &inEntry, Value entry) {
        Value inner = second.getColumn(inEntry, loc, entry, factors.first);
        Value factor = second.load(inEntry, loc, entry, sample);
        addRow(inEntry, factor, inner, own, sample, isOwn);
        emitWarpBarrier(inEntry, loc);
      });
    });
  }

private:
  void addRow(OpBuilder &builder, Value factor, Value inner, EntryRange own,
              const SampleBlock &sample, Value isOwn) const {
    EntryRange range = getEntries(builder, loc, first, inner);
    forEachOwnEntry(builder, range, isOwn, [&](OpBuilder &inEntry, Value entry) {
      Value column = first.getColumn(inEntry, loc, entry, range.first);
      Value place = findEntry(inEntry, column, own);
      Value sum = multiplyAdd(inEntry, loc, factor, first.load(inEntry, loc, entry, sample),
                              loadSamples(inEntry, loc, result.values, place, sample));
      storeSamples(inEntry, loc, sum, result.values, place, sample);
    });
  }

  /// Iterates over the entries of this lane. A condition inside the loop would need another
  /// convergence barrier; GPUs have few before they spill.
  void forEachOwnEntry(OpBuilder &builder, EntryRange range, Value isOwn,
                       function_ref<void(OpBuilder &, Value)> body) const {
    Value last = arith::SelectOp::create(builder, loc, isOwn, range.last, range.first);
    warp.forEachEntry(builder, range.first, last, body);
  }

  /// The binary search always takes the steps of the longest row, so that the lanes of a warp do
  /// not diverge.
  Value findEntry(OpBuilder &builder, Value column, EntryRange own) const {
    if (!result.columns)
      return addIndex(builder, loc, own.first, column);
    Value size = arith::SubIOp::create(builder, loc, own.last, own.first);
    auto halve = [&](OpBuilder &nested, Value, ValueRange range) {
      Value half = arith::ShRUIOp::create(nested, loc, range[1], getIndex(nested, loc, 1));
      Value middle = addIndex(nested, loc, range[0], half);
      Value isAbove = isBelow(nested, loc, column, loadIndex(nested, loc, result.columns, middle));
      Value from = arith::SelectOp::create(nested, loc, isAbove, range[0], middle);
      Value left = arith::SubIOp::create(nested, loc, range[1], half);
      return SmallVector<Value>{from, left};
    };
    return emitFold(builder, loc, getIndex(builder, loc, 0),
                    getIndex(builder, loc, llvm::Log2_64_Ceil(result.cols)), {own.first, size},
                    halve)
        .front();
  }
};
} // namespace

void bppsa::launchSparseCompose(jacobian::SparseComposeOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  int64_t cols = op.getCols(), inner = op.getInner();
  MatrixReader first = {op.getFirst(), op.getFirstStarts(), op.getFirstColumns(),
                        op.getFirstPositions(), cols};
  MatrixReader second = {op.getSecond(), op.getSecondStarts(), op.getSecondColumns(),
                         op.getSecondPositions(), inner};
  MatrixReader result = {op.getDestination(), op.getResultStarts(), op.getResultColumns(), Value(),
                         cols};
  emitWarpRows(builder, loc, op.getRows(),
               getNumSamples(builder, loc, {op.getFirst(), op.getSecond()}),
               [&](OpBuilder &nested, const WarpRow &warp) {
                 ProductRow{loc, first, second, result, warp}.emit(nested);
               });
}

void bppsa::launchSparseOuterSum(jacobian::SparseOuterSumOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value destination = op.getDestination();
  emitForEachThread(builder, loc, getDim(builder, loc, destination, 0),
                    [&](OpBuilder &nested, Value i) {
                      Value zero = getZero(nested, loc, destination);
                      memref::StoreOp::create(nested, loc, zero, destination, i);
                    });
  // A warp per weight: its lanes share samples and, if lanes remain, rows.
  auto emitWeight = [&](OpBuilder &inRow, const WarpRow &warp) {
    Value first = loadIndex(inRow, loc, op.getStarts(), warp.row);
    Value last = loadIndex(inRow, loc, op.getStarts(), addIndex(inRow, loc, warp.row, 1));
    Value sum = warp.foldSamples(
        inRow, getZero(inRow, loc, destination),
        [&](OpBuilder &nested, const SampleBlock &sample, Value running) {
          return warp.foldEntries(
              nested, first, last, running, [&](OpBuilder &inEntry, Value entry, Value part) {
                auto load = [&](Value array, Value rows) {
                  return loadSamples(inEntry, loc, array, loadIndex(inEntry, loc, rows, entry),
                                     sample);
                };
                return multiplyAdd(inEntry, loc, load(op.getLhs(), op.getLhsRows()),
                                   load(op.getRhs(), op.getRhsRows()), part);
              });
        });
    sum = warp.addLanes(inRow, sum);
    emitIf(inRow, loc, warp.isFirstLane(inRow), [&](OpBuilder &writer) {
      memref::StoreOp::create(writer, loc, sum, destination,
                              loadIndex(writer, loc, op.getPositions(), warp.row));
    });
  };
  emitWarpRows(builder, loc, cast<MemRefType>(op.getPositions().getType()).getDimSize(0),
               getDim(builder, loc, op.getLhs(), 1), emitWeight);
}
