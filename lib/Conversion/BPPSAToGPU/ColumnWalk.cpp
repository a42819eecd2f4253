//===- ColumnWalk.cpp - a thread walks a column of a map ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ColumnWalk.h"
#include "BlockWalk.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace bppsa;

/// The most rows of a value, and of the states together. With more, ptxas begins to
/// spill (a GRU of 24 units, an LSTM of 16), and a block has work for more of its
/// threads.
static constexpr int64_t kMostRows = 20;

/// The most entries of matrices, each of which is an instruction of a step: 64 KiB of
/// code. Their copies take less than the 48 KiB of shared memory that a block has.
static constexpr int64_t kMostEntries = 4096;

/// Columns of copies begin at multiples of 16 bytes, which one instruction loads.
static constexpr int64_t kLoadedTogether = 4;

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

std::optional<ColumnWalk> ColumnWalk::create(const CotangentLoop &loop) {
  ColumnWalk walk(loop, cloneLink(loop, {/*inject=*/false, /*emit=*/false}));
  if (AffineMapLayout::get(loop).isDiagonal || !walk.isSmall())
    return std::nullopt;
  return walk;
}

ColumnWalk::ColumnWalk(const CotangentLoop &loop, std::unique_ptr<Region> link)
    : loop(loop), loc(loop.op->getLoc()), region(std::move(link)) {
  for (auto product : region->front().getOps<MatVecOp>()) {
    auto matrix = dyn_cast<BlockArgument>(product.getMatrix());
    if (matrix && getFactor(product) == factors.size())
      factors.push_back({matrix, product.getTransposed(), getNumRows(product.getResult()),
                         getNumRows(product.getVector())});
  }
}

size_t ColumnWalk::getFactor(MatVecOp product) const {
  return llvm::find_if(factors,
                       [&](const Factor &factor) {
                         return factor.matrix == product.getMatrix() &&
                                factor.isTransposed == product.getTransposed();
                       }) -
         factors.begin();
}

static bool isSmallVector(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  return type && type.getRank() == 1 && type.getDimSize(0) <= kMostRows;
}

/// Whether a thread can evaluate all rows of `op`. What cannot be evaluated at all is
/// reported by walks of blocks.
static bool isSupported(Operation &op) {
  if (op.getNumResults() != 1 || !isSmallVector(op.getResult(0)))
    return false;
  if (auto product = dyn_cast<MatVecOp>(op))
    return isa<BlockArgument>(product.getMatrix()) && isSmallVector(product.getVector());
  return llvm::all_of(op.getOperands(), isSmallVector) &&
         (op.hasTrait<OpTrait::Elementwise>() ||
          isa<arith::ConstantOp, vector::ExtractStridedSliceOp, vector::InsertStridedSliceOp>(op));
}

bool ColumnWalk::isSmall() const {
  int64_t entries = 0;
  for (const Factor &factor : factors)
    entries += factor.numRows * factor.numColumns;
  Block &body = region->front();
  auto arguments = body.getArguments().drop_back(loop.captures.size());
  return loop.getTotalSize() <= kMostRows && entries <= kMostEntries &&
         llvm::all_of(arguments, isSmallVector) &&
         llvm::all_of(body.without_terminator(), isSupported);
}

Value ColumnWalk::getCapture(BlockArgument argument) const {
  unsigned first = region->front().getNumArguments() - loop.captures.size();
  return loop.captures[argument.getArgNumber() - first];
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

SmallVector<MemRefType> ColumnWalk::getSharedTypes() const {
  SmallVector<MemRefType> types;
  for (const Factor &factor : factors) {
    Type element = cast<VectorType>(factor.matrix.getType()).getElementType();
    int64_t stride = llvm::alignTo(factor.numRows, kLoadedTogether);
    types.push_back(MemRefType::get({factor.numColumns, stride}, element));
  }
  return types;
}

/// A thread copies a row of each factor: loads that do not wait for each other.
void ColumnWalk::copyFactors(OpBuilder &builder, const LaunchedThread &thread) {
  copies.assign(thread.shared.begin(), thread.shared.end());
  for (auto [factor, copy] : llvm::zip_equal(factors, copies)) {
    Value matrix = getCapture(factor.matrix), target = copy;
    bool isTransposed = factor.isTransposed;
    int64_t numColumns = factor.numColumns;
    emitRows(builder, loc, thread, factor.numRows, [&](OpBuilder &nested, Value row) {
      for (int64_t i = 0; i < numColumns; ++i) {
        Value column = getIndex(nested, loc, i);
        SmallVector<Value> at = {row, column};
        if (isTransposed)
          std::swap(at[0], at[1]);
        Value entry = memref::LoadOp::create(nested, loc, matrix, at);
        memref::StoreOp::create(nested, loc, entry, target, ValueRange{column, row});
      }
    });
  }
  emitBarrier(builder, loc);
}

/// The sum of each row is one chain of additions, in the order of columns; rows are
/// independent of each other.
ColumnWalk::Rows ColumnWalk::emitProduct(OpBuilder &builder, MatVecOp product,
                                         const RowsOfValues &rows) {
  Type element = cast<VectorType>(product.getType()).getElementType();
  Rows sums;
  if (product.getAddend())
    sums = rows.lookup(product.getAddend());
  else
    sums.assign(getNumRows(product.getResult()),
                arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element)));
  Value copy = copies[getFactor(product)];
  for (auto [i, value] : llvm::enumerate(rows.lookup(product.getVector()))) {
    Value column = getIndex(builder, loc, i);
    for (auto [j, sum] : llvm::enumerate(sums)) {
      Value entry =
          memref::LoadOp::create(builder, loc, copy, ValueRange{column, getIndex(builder, loc, j)});
      sum = math::FmaOp::create(builder, loc, entry, value, sum);
    }
  }
  return sums;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void ColumnWalk::launch(OpBuilder &builder, Value count,
                        function_ref<void(OpBuilder &, Value, Value)> body) {
  Value size = getIndex(builder, loc, kWarpThreads);
  Value numBlocks = arith::CeilDivUIOp::create(builder, loc, count, size);
  Value last = addIndex(builder, loc, count, -1);
  emitLaunch(builder, loc, numBlocks, kWarpThreads, getSharedTypes(),
             [&](OpBuilder &nested, const LaunchedThread &thread) {
               copyFactors(nested, thread);
               Value number =
                   addIndex(nested, loc, mulIndex(nested, loc, thread.block, size), thread.thread);
               body(nested, minIndex(nested, loc, number, last),
                    isBelow(nested, loc, number, count));
             });
}

SmallVector<Value> ColumnWalk::walk(OpBuilder &builder, Value sample, Value first, Value last,
                                    ValueRange start) {
  Value wholeWarp = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(-1));
  return emitFold(builder, loc, first, last, start,
                  [&](OpBuilder &nested, Value position, ValueRange column) {
                    // Nothing writes the copies any more, so LLVM would take the loads of
                    // their entries out of the loop, to more registers than there are.
                    NVVM::SyncWarpOp::create(nested, loc, wholeWarp);
                    Value step = getStep(nested, loop, position);
                    return emitStep(nested, sample, step, column);
                  });
}

ColumnWalk::RowsOfValues ColumnWalk::loadArguments(OpBuilder &builder, Value sample, Value step,
                                                   ValueRange column) {
  RowsOfValues rows;
  Block &body = region->front();
  auto load = [&](BlockArgument argument, const Place &place) {
    if (argument.use_empty() || !isSmallVector(argument))
      return;
    for (int64_t i = 0, e = getNumRows(argument); i < e; ++i)
      rows[argument].push_back(place.load(builder, loc, getIndex(builder, loc, i)));
  };
  unsigned number = 0;
  for (Value saved : loop.saved)
    load(body.getArgument(number++), {saved, {step, sample}});
  for (size_t i = 0; i < loop.seeds.size(); ++i) {
    int64_t size = loop.getStateSize(i);
    rows[body.getArgument(number++)] = llvm::to_vector(column.take_front(size));
    column = column.drop_front(size);
  }
  for (Value capture : loop.captures)
    load(body.getArgument(number++), {capture, {}});
  return rows;
}

ColumnWalk::Rows ColumnWalk::emitStep(OpBuilder &builder, Value sample, Value step,
                                      ValueRange column) {
  Block &body = region->front();
  RowsOfValues rows = loadArguments(builder, sample, step, column);
  for (Operation &op : body.without_terminator())
    rows.try_emplace(op.getResult(0), emitOp(builder, &op, rows));
  Rows next;
  for (Value yielded : body.getTerminator()->getOperands())
    next.append(rows.lookup(yielded));
  return next;
}

static int64_t getOffset(ArrayAttr offsets) { return cast<IntegerAttr>(offsets[0]).getInt(); }

ColumnWalk::Rows ColumnWalk::emitOp(OpBuilder &builder, Operation *op, const RowsOfValues &rows) {
  int64_t numRows = getNumRows(op->getResult(0));
  if (auto product = dyn_cast<MatVecOp>(op))
    return emitProduct(builder, product, rows);
  if (auto slice = dyn_cast<vector::ExtractStridedSliceOp>(op)) {
    Rows source = rows.lookup(slice.getSource());
    return llvm::to_vector(ArrayRef(source).slice(getOffset(slice.getOffsets()), numRows));
  }
  if (auto insert = dyn_cast<vector::InsertStridedSliceOp>(op)) {
    Rows result = rows.lookup(insert.getDest());
    llvm::copy(rows.lookup(insert.getValueToStore()),
               result.begin() + getOffset(insert.getOffsets()));
    return result;
  }
  Rows result;
  Type element = cast<VectorType>(op->getResult(0).getType()).getElementType();
  for (int64_t row = 0; row < numRows; ++row) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto entries = cast<DenseElementsAttr>(constant.getValue()).getValues<TypedAttr>();
      result.push_back(arith::ConstantOp::create(builder, loc, entries[row]));
      continue;
    }
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, rows.lookup(operand)[row]);
    Operation *rowOp = op->clone(mapping);
    rowOp->getResult(0).setType(element);
    builder.insert(rowOp);
    result.push_back(rowOp->getResult(0));
  }
  return result;
}
