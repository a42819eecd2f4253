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

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

std::optional<ColumnWalk> ColumnWalk::create(const CotangentLoop &loop, bool readAhead) {
  ColumnWalk walk(loop, cloneLink(loop, {/*inject=*/false, /*emit=*/false}), readAhead);
  if (AffineMapLayout::get(loop).isDiagonal || !walk.isSmall())
    return std::nullopt;
  return walk;
}

ColumnWalk::ColumnWalk(const CotangentLoop &loop, std::unique_ptr<Region> link, bool readAhead)
    : loop(loop), loc(loop.op->getLoc()), region(std::move(link)) {
  SmallVector<Value> sources;
  for (auto [number, saved] : llvm::enumerate(loop.saved))
    if (!region->front().getArgument(number).use_empty()) {
      readSaved.push_back(number);
      sources.push_back(saved);
    }
  if (readAhead && !sources.empty())
    ring.emplace(loc, sources, loop.getTotalSize());
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
  return type && type.getRank() == 1 && type.getDimSize(0) <= cost::mostColumnRows;
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
  return loop.getTotalSize() <= cost::mostColumnRows && entries <= cost::mostColumnEntries &&
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
  if (ring)
    llvm::append_range(types, ring->getSharedTypes());
  return types;
}

/// A thread copies a row of each factor: loads that do not wait for each other.
void ColumnWalk::copyFactors(OpBuilder &builder, const LaunchedThread &thread) {
  copies = llvm::to_vector_of<Value>(thread.shared.take_front(factors.size()));
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
               walker = thread;
               copyFactors(nested, thread);
               Value number =
                   addIndex(nested, loc, mulIndex(nested, loc, thread.block, size), thread.thread);
               body(nested, minIndex(nested, loc, number, last),
                    isBelow(nested, loc, number, count));
             });
}

SmallVector<Value> ColumnWalk::walk(OpBuilder &builder, const ColumnRuns &runs, Value number,
                                    ValueRange start) {
  Value wholeWarp = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(-1));
  Value numColumns = getIndex(builder, loc, runs.numColumns);
  Value run = arith::DivUIOp::create(builder, loc, number, numColumns);
  auto [sample, first] = runs.at(builder, run);
  Value runOfWarp;
  if (ring) {
    ring->begin(builder, walker, walker.shared.drop_front(factors.size()), runs);
    Value firstColumn = mulIndex(builder, loc, walker.block, getIndex(builder, loc, kWarpThreads));
    Value firstRun = arith::DivUIOp::create(builder, loc, firstColumn, numColumns);
    runOfWarp = arith::SubIOp::create(builder, loc, run, firstRun);
  }
  auto body = [&, sample = sample, first = first](OpBuilder &nested, Value link,
                                                  ValueRange column) {
    // Makes copies of other threads visible. And nothing writes those of matrices any more,
    // so LLVM would take the loads of their entries out of the loop, to more registers than
    // there are.
    NVVM::SyncWarpOp::create(nested, loc, wholeWarp);
    Value step = runs.stepAt(nested, addIndex(nested, loc, first, link));
    Rows next = emitStep(
        nested,
        [&](size_t saved, int64_t row) -> Value {
          size_t source = llvm::find(readSaved, saved) - readSaved.begin();
          if (ring)
            return ring->load(nested, source, link, runOfWarp, row);
          return Place{loop.saved[saved], {step, sample}}.load(nested, loc,
                                                               getIndex(nested, loc, row));
        },
        column);
    if (ring)
      ring->advance(nested, link);
    return next;
  };
  return emitFold(builder, loc, getIndex(builder, loc, 0), runs.length, start, body);
}

ColumnWalk::RowsOfValues ColumnWalk::loadArguments(OpBuilder &builder, LoadSaved loadSaved,
                                                   ValueRange column) {
  RowsOfValues rows;
  Block &body = region->front();
  auto load = [&](BlockArgument argument, function_ref<Value(int64_t)> loadRow) {
    if (argument.use_empty() || !isSmallVector(argument))
      return;
    for (int64_t i = 0, e = getNumRows(argument); i < e; ++i)
      rows[argument].push_back(loadRow(i));
  };
  unsigned number = 0;
  for (size_t saved = 0; saved < loop.saved.size(); ++saved)
    load(body.getArgument(number++), [&](int64_t row) { return loadSaved(saved, row); });
  for (size_t i = 0; i < loop.seeds.size(); ++i) {
    int64_t size = loop.getStateSize(i);
    rows[body.getArgument(number++)] = llvm::to_vector(column.take_front(size));
    column = column.drop_front(size);
  }
  for (Value capture : loop.captures)
    load(body.getArgument(number++), [&, capture = capture](int64_t row) {
      return Place{capture, {}}.load(builder, loc, getIndex(builder, loc, row));
    });
  return rows;
}

ColumnWalk::Rows ColumnWalk::emitStep(OpBuilder &builder, LoadSaved loadSaved, ValueRange column) {
  Block &body = region->front();
  RowsOfValues rows = loadArguments(builder, loadSaved, column);
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
  for (int64_t row = 0; row < numRows; ++row) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto entries = cast<DenseElementsAttr>(constant.getValue()).getValues<TypedAttr>();
      result.push_back(arith::ConstantOp::create(builder, loc, entries[row]));
      continue;
    }
    auto read = [&](Value operand) { return rows.lookup(operand)[row]; };
    result.push_back(cloneForRow(builder, op, read));
  }
  return result;
}
