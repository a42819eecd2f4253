//===- MatVecKernel.cpp - matrix-vector products of a row block -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LaneEmitter.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace bppsa;

/// Columns up to which the loop over columns is written out.
static constexpr int64_t kMaxUnrolledColumns = 4;

namespace {
/// A product and the accumulators (one a row) that it adds to.
struct Accumulation {
  MatVecOp product;
  size_t sum;
};
} // namespace

Value LaneEmitter::loadMatrix(OpBuilder &builder, Location loc, MatVecOp op, Value row, Value col) {
  Value matrix = captures[cast<BlockArgument>(op.getMatrix()).getArgNumber() - firstCapture];
  SmallVector<Value, 2> indices = {row, col};
  if (op.getTransposed())
    std::swap(indices[0], indices[1]);
  Value entry = memref::LoadOp::create(builder, loc, matrix, indices);
  return vector::BroadcastOp::create(builder, loc, getRowType(op.getType()), entry);
}

/// Whether a row of `value` can only be had after a sum of `unit`.
static bool dependsOnSum(Value value, const BodyPlan &plan, const RowUnit &unit) {
  SmallVector<Value> worklist = {value};
  DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (llvm::any_of(unit.sums, [&](const ProductSum &sum) { return sum.result == next; }))
      return true;
    Operation *op = next.getDefiningOp();
    if (op && !plan.isLoadedAt(next, unit) && !isa<vector::ExtractStridedSliceOp>(op))
      llvm::append_range(worklist, op->getOperands());
  }
  return false;
}

/// Accumulates every sum of `unit` for `rows`. Products of one vector share the
/// loop over its entries, so that each entry is loaded once for the block.
SmallVector<LaneEmitter::RowValues> LaneEmitter::emitProductSums(OpBuilder &builder, Location loc,
                                                                 const RowUnit &unit,
                                                                 ArrayRef<Value> rows) {
  SmallVector<RowValues> values(rows.size());
  SmallVector<SmallVector<Value>> accumulators(unit.sums.size());
  llvm::MapVector<Value, SmallVector<Accumulation>> byVector;
  for (auto [i, sum] : llvm::enumerate(unit.sums)) {
    for (MatVecOp product : llvm::reverse(sum.products))
      byVector[product.getVector()].push_back({product, i});
    bool startsAtAddend = sum.addend && !dependsOnSum(sum.addend, plan, unit);
    for (auto [row, known] : llvm::zip_equal(rows, values)) {
      Value start;
      if (startsAtAddend)
        start = getRow(builder, loc, sum.addend, unit, row, known);
      else
        start = arith::ConstantOp::create(builder, loc,
                                          builder.getZeroAttr(getRowType(sum.result.getType())));
      accumulators[i].push_back(start);
    }
  }
  for (auto &entry : byVector) {
    Value vector = entry.first;
    ArrayRef<Accumulation> products = entry.second;
    Rows source = getHome(vector);
    auto accumulate = [&](OpBuilder &nested, Value col) {
      Value factor = source.load(nested, loc, col);
      for (const Accumulation &item : products)
        for (auto [row, accumulator] : llvm::zip_equal(rows, accumulators[item.sum]))
          accumulator = vector::FMAOp::create(
              nested, loc, loadMatrix(nested, loc, item.product, row, col), factor, accumulator);
    };
    int64_t numCols = getNumRows(vector);
    if (numCols <= kMaxUnrolledColumns) {
      for (int64_t col = 0; col < numCols; ++col)
        accumulate(builder, getIndex(builder, loc, col));
      continue;
    }
    SmallVector<size_t> used;
    for (const Accumulation &item : products)
      if (!llvm::is_contained(used, item.sum))
        used.push_back(item.sum);
    SmallVector<Value> carried;
    for (size_t sum : used)
      llvm::append_range(carried, accumulators[sum]);
    auto assign = [&](ValueRange from) {
      size_t next = 0;
      for (size_t sum : used)
        for (Value &accumulator : accumulators[sum])
          accumulator = from[next++];
    };
    auto loop =
        scf::ForOp::create(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, numCols),
                           getIndex(builder, loc, 1), carried,
                           [&](OpBuilder &nested, Location, Value col, ValueRange iteration) {
                             assign(iteration);
                             accumulate(nested, col);
                             SmallVector<Value> yielded;
                             for (size_t sum : used)
                               llvm::append_range(yielded, accumulators[sum]);
                             scf::YieldOp::create(nested, loc, yielded);
                           });
    assign(loop.getResults());
  }
  // Sums come in the order of their dependences.
  for (auto [i, sum] : llvm::enumerate(unit.sums)) {
    bool isAdded = !sum.addend || !dependsOnSum(sum.addend, plan, unit);
    for (auto [row, known, accumulator] : llvm::zip_equal(rows, values, accumulators[i]))
      known[sum.result] =
          isAdded ? accumulator
                  : arith::AddFOp::create(builder, loc, accumulator,
                                          getRow(builder, loc, sum.addend, unit, row, known));
  }
  return values;
}
