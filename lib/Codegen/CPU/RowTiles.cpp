//===- RowTiles.cpp - vectorize across short rows -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RowTiles.h"
#include "VectorBodies.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "bppsa/Support/TransposeVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

/// Elements transposed at once, and maximum elements of a row: a tile has code for each.
static constexpr int64_t kStrip = kTransposedColumns, kMaxElements = 16;

static unsigned getRowLoop(linalg::GenericOp op) { return op.getNumLoops() - 2; }
static unsigned getElementLoop(linalg::GenericOp op) { return op.getNumLoops() - 1; }

bool bppsa::hasRowTiles(linalg::GenericOp op, int64_t lanes) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t rows = sizes[getRowLoop(op)], elements = sizes[getElementLoop(op)];
  if (elements < kStrip || elements > kMaxElements ||
      (ShapedType::isStatic(rows) && rows < lanes) ||
      op.getIteratorTypesArray()[getRowLoop(op)] != utils::IteratorType::parallel)
    return false;
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    if (!followsLoop(op, operand, getRowLoop(op)))
      return op.isDpsInput(&operand);
    if (!followsLoop(op, operand, getElementLoop(op)))
      return isContiguousAlong(op, operand, getRowLoop(op));
    return getElementTypeOrSelf(operand.get().getType()).isF32() &&
           isContiguousAlong(op, operand, getElementLoop(op));
  });
}

namespace {
class RowTile {
public:
  /// `outer` has the indices of the loops around rows, `rows` the index of each row; `isWhole`
  /// indicates whether the rows are adjacent.
  RowTile(OpBuilder &builder, linalg::GenericOp op, ArrayRef<Value> outer, ArrayRef<Value> rows,
          Value isWhole)
      : builder(builder), loc(op.getLoc()), op(op), outer(outer), rows(rows), isWhole(isWhole),
        lanes(rows.size()), size(op.getStaticLoopRanges().back()) {}

  void emit();

private:
  bool isReduction() { return op.getIteratorTypesArray().back() == utils::IteratorType::reduction; }
  SmallVector<Value> getIndices(OpOperand &operand, Value row, int64_t element);
  Value loadNumbers(OpOperand &operand);
  void storeNumbers(OpOperand &operand, Value numbers);
  void loadStrip(OpOperand &operand, int64_t first);
  void loadStrips(int64_t first);
  void storeStrips(int64_t first);
  void compute(int64_t element);

  OpBuilder &builder;
  Location loc;
  linalg::GenericOp op;
  ArrayRef<Value> outer, rows;
  Value isWhole;
  int64_t lanes, size;
  IRMapping shared;
  llvm::MapVector<BlockArgument, SmallVector<Value>> read;
  SmallVector<SmallVector<Value>> yielded;
};
} // namespace

SmallVector<Value> RowTile::getIndices(OpOperand &operand, Value row, int64_t element) {
  return llvm::map_to_vector(op.getMatchingIndexingMap(&operand).getResults(),
                             [&](AffineExpr e) -> Value {
                               unsigned loop = cast<AffineDimExpr>(e).getPosition();
                               if (loop == getElementLoop(op))
                                 return getIndex(builder, loc, element);
                               return loop == getRowLoop(op) ? row : outer[loop];
                             });
}

Value RowTile::loadNumbers(OpOperand &operand) {
  auto type = VectorType::get(lanes, getElementTypeOrSelf(operand.get().getType()));
  auto loadOne = [&](OpBuilder &at, Value row) -> Value {
    return memref::LoadOp::create(at, loc, operand.get(), getIndices(operand, row, 0));
  };
  if (!followsLoop(op, operand, getRowLoop(op)))
    return loadOne(builder, rows.front());
  SmallVector<Value> first = getIndices(operand, rows.front(), 0);
  auto loadAll = [&](OpBuilder &then, Location) {
    Value numbers = vector::LoadOp::create(then, loc, type, operand.get(), first);
    scf::YieldOp::create(then, loc, numbers);
  };
  auto loadEach = [&](OpBuilder &otherwise, Location) {
    SmallVector<Value> each =
        llvm::map_to_vector(rows, [&](Value row) { return loadOne(otherwise, row); });
    Value numbers = vector::FromElementsOp::create(otherwise, loc, type, each);
    scf::YieldOp::create(otherwise, loc, numbers);
  };
  return scf::IfOp::create(builder, loc, isWhole, loadAll, loadEach).getResult(0);
}

void RowTile::storeNumbers(OpOperand &operand, Value numbers) {
  SmallVector<Value> first = getIndices(operand, rows.front(), 0);
  auto storeAll = [&](OpBuilder &then, Location) {
    vector::StoreOp::create(then, loc, numbers, operand.get(), first);
    scf::YieldOp::create(then, loc);
  };
  auto storeEach = [&](OpBuilder &otherwise, Location) {
    for (auto [lane, row] : llvm::enumerate(rows)) {
      Value number = vector::ExtractOp::create(otherwise, loc, numbers, lane);
      memref::StoreOp::create(otherwise, loc, number, operand.get(), getIndices(operand, row, 0));
    }
    scf::YieldOp::create(otherwise, loc);
  };
  scf::IfOp::create(builder, loc, isWhole, storeAll, storeEach);
}

/// Keeps elements that were read before: their memory may have been overwritten.
void RowTile::loadStrip(OpOperand &operand, int64_t first) {
  SmallVector<Value> strip;
  if (followsLoop(op, operand, getRowLoop(op))) {
    auto type = VectorType::get(kStrip, builder.getF32Type());
    for (Value row : rows)
      strip.push_back(vector::LoadOp::create(builder, loc, type, operand.get(),
                                             getIndices(operand, row, first)));
    strip = transposeRowsOfFour(builder, loc, strip);
  } else {
    for (int64_t element = first; element < first + kStrip; ++element)
      strip.push_back(memref::LoadOp::create(builder, loc, operand.get(),
                                             getIndices(operand, rows.front(), element)));
  }
  SmallVector<Value> &values = read[op.getMatchingBlockArgument(&operand)];
  values.resize(size);
  for (auto [i, value] : llvm::enumerate(strip))
    if (!values[first + i])
      values[first + i] = value;
}

void RowTile::loadStrips(int64_t first) {
  for (OpOperand &operand : op->getOpOperands())
    if (!op.getMatchingBlockArgument(&operand).use_empty() &&
        followsLoop(op, operand, getElementLoop(op)))
      loadStrip(operand, first);
}

void RowTile::storeStrips(int64_t first) {
  if (isReduction())
    return;
  for (auto [result, values] : llvm::zip_equal(op.getDpsInitsMutable(), yielded)) {
    SmallVector<Value> ofRows =
        transposeFourColumns(builder, loc, ArrayRef(values).slice(first, kStrip));
    for (auto [row, ofRow] : llvm::zip_equal(rows, ofRows))
      vector::StoreOp::create(builder, loc, ofRow, result.get(), getIndices(result, row, first));
  }
}

void RowTile::compute(int64_t element) {
  IRMapping mapping = shared;
  for (const auto &[argument, values] : read)
    mapping.map(argument, values[element]);
  for (Operation &inner : op.getBody()->without_terminator()) {
    auto index = dyn_cast<linalg::IndexOp>(inner);
    if (!index) {
      cloneOnVectors(builder, inner, lanes, mapping);
    } else if (index.getDim() == getElementLoop(op)) {
      mapping.map(index.getResult(), getIndex(builder, loc, element));
    } else if (index.getDim() == getRowLoop(op)) {
      auto type = VectorType::get(lanes, builder.getIndexType());
      mapping.map(index.getResult(),
                  vector::FromElementsOp::create(builder, loc, type, rows).getResult());
    } else {
      mapping.map(index.getResult(), outer[index.getDim()]);
    }
  }
  for (auto [i, value] : llvm::enumerate(op.getBody()->getTerminator()->getOperands())) {
    Value result = spread(builder, mapping.lookupOrDefault(value), lanes);
    if (isReduction())
      shared.map(op.getRegionOutputArgs()[i], result);
    else
      yielded[i][element] = result;
  }
}

/// The last strip may overlap the previous one, and is read before that one is written, because
/// results may alias operands.
void RowTile::emit() {
  for (OpOperand &operand : op->getOpOperands())
    if (BlockArgument argument = op.getMatchingBlockArgument(&operand);
        !argument.use_empty() && !followsLoop(op, operand, getElementLoop(op)))
      shared.map(argument, loadNumbers(operand));
  yielded.assign(op.getNumDpsInits(), SmallVector<Value>(size));
  auto overlapsNext = [&](int64_t first) {
    return first + kStrip < size && first + 2 * kStrip > size;
  };
  for (int64_t first = 0; first < size; first += kStrip) {
    int64_t begin = std::min(first, size - kStrip);
    loadStrips(begin);
    if (first > 0 && overlapsNext(first - kStrip))
      storeStrips(first - kStrip);
    for (int64_t element = first; element < begin + kStrip; ++element)
      compute(element);
    if (!overlapsNext(first))
      storeStrips(begin);
  }
  if (isReduction())
    for (OpOperand &result : op.getDpsInitsMutable())
      storeNumbers(result, shared.lookup(op.getMatchingBlockArgument(&result)));
}

void bppsa::emitRowTiles(linalg::GenericOp op, int64_t lanes) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SmallVector<Value> sizes, outer;
  for (const Range &range :
       cast<linalg::LinalgOp>(op.getOperation()).createLoopRanges(builder, loc))
    sizes.push_back(getValueOrCreateConstantIndexOp(builder, loc, range.size));
  Value zero = getIndex(builder, loc, 0), step = getIndex(builder, loc, lanes);
  for (Value size : ArrayRef(sizes).drop_back(2)) {
    auto loop = scf::ForOp::create(builder, loc, zero, size, getIndex(builder, loc, 1));
    outer.push_back(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBody());
  }
  Value numRows = sizes[getRowLoop(op)];
  Value last = arith::SubIOp::create(builder, loc, numRows, getIndex(builder, loc, 1));
  auto tiles = scf::ForOp::create(builder, loc, zero, numRows, step);
  builder.setInsertionPointToStart(tiles.getBody());
  SmallVector<Value> rows;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value row = addIndex(builder, loc, tiles.getInductionVar(), lane);
    rows.push_back(minIndex(builder, loc, row, last));
  }
  Value end = addIndex(builder, loc, tiles.getInductionVar(), lanes);
  Value isWhole = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, end, numRows);
  RowTile(builder, op, outer, rows, isWhole).emit();
}
