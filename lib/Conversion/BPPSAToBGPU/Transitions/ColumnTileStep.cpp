//===- ColumnTileStep.cpp - a step of a column tile -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../../Codegen/GPU/Launch.h"
#include "../ThreadNumbers.h"
#include "ColumnTileLoop.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace bppsa;

/// A stage computes values that need only earlier shared column tiles, then shares its own.
ColumnTileLoop::Fragments ColumnTileLoop::emitStep(OpBuilder &builder, ValueRange states) {
  Block &body = region->front();
  columnTiles.clear();
  rowTiles.clear();
  for (Value state : body.getArguments().slice(loop.saved.size(), loop.getNumStates())) {
    columnTiles[state] = llvm::to_vector(states.take_front(countFragments(getNumRows(state))));
    states = states.drop_front(countFragments(getNumRows(state)));
  }
  for (int64_t stage = 0, e = plan.getNumStages(); stage < e; ++stage) {
    for (Operation &op : body.without_terminator())
      if (plan.isColumnTile(op.getResult(0)) && plan.getStage(op.getResult(0)) == stage)
        columnTiles.try_emplace(op.getResult(0), emitOp(builder, &op));
    for (Value value : plan.getShared())
      if (plan.getStage(value) == stage)
        share(builder, value);
  }
  Fragments next;
  for (Value yielded : body.getTerminator()->getOperands())
    next.append(getFragments(builder, yielded));
  return next;
}

ColumnTileLoop::Fragments ColumnTileLoop::emitOp(OpBuilder &builder, Operation *op) {
  if (auto product = dyn_cast<MatVecOp>(op))
    return emitProduct(builder, product);
  auto cell = cast<CellOpInterface>(op);
  Value result = op->getResult(0);
  SmallVector<Value> same;
  for (auto [number, operand] : llvm::enumerate(op->getOperands()))
    if (cell.getRowAccess(number) == RowAccess::Same && !llvm::is_contained(same, operand))
      same.push_back(operand);
  auto emitEntry = [&](OpBuilder &inThread, size_t entry, const Numbers &numbers) {
    Value row = limitRow(inThread, getEntryRow(inThread, entry), getNumRows(result));
    auto readSame = [&](Value operand) { return getEntry(operand, entry, numbers); };
    auto readOther = [&](Value operand, Value at) {
      return readElement(inThread, operand, at, getColumn(inThread, entry));
    };
    return cell.emitRow(inThread, getElementTypeOrSelf(result),
                        {row, /*spansRows=*/false, readSame, readOther});
  };
  return makeFragments(builder, getNumRows(result), getElementTypeOrSelf(result), same, emitEntry);
}

ColumnTileLoop::Fragments ColumnTileLoop::makeFragments(
    OpBuilder &builder, int64_t rows, Type element, ValueRange operands,
    function_ref<Value(OpBuilder &, size_t entry, const Numbers &)> body) {
  SmallVector<Value> tiles;
  SmallVector<size_t> counts;
  for (Value operand : operands) {
    size_t before = tiles.size();
    if (plan.isColumnTile(operand))
      llvm::append_range(tiles, columnTiles[operand]);
    else
      tiles.push_back(getRowTile(builder, operand));
    counts.push_back(tiles.size() - before);
  }
  SmallVector<Type> types(countFragments(rows), VectorType::get(FragmentLayout::kEntries, element));
  return forEachThread(builder, tiles, types, [&](OpBuilder &inThread, ValueRange own) {
    Numbers numbers;
    for (auto [operand, count] : llvm::zip_equal(operands, counts)) {
      numbers[operand] = unpackScalars(inThread, loc, own.take_front(count));
      own = own.drop_front(count);
    }
    SmallVector<Value> entries;
    for (size_t i = 0; i < countEntries(rows); ++i)
      entries.push_back(body(inThread, i, numbers));
    return packScalars(inThread, loc, entries, FragmentLayout::kEntries);
  });
}

/// Values shared by all columns are repeated for each column tile.
ColumnTileLoop::Fragments ColumnTileLoop::getFragments(OpBuilder &builder, Value value) {
  if (plan.isColumnTile(value))
    return columnTiles[value];
  return makeFragments(builder, getNumRows(value), getElementTypeOrSelf(value), value,
                       [&](OpBuilder &, size_t entry, const Numbers &numbers) {
                         return getEntry(value, entry, numbers);
                       });
}

Value ColumnTileLoop::getEntry(Value value, size_t entry, const Numbers &numbers) const {
  ArrayRef<Value> own = numbers.find(value)->second;
  return own[plan.isColumnTile(value) ? entry
                                      : 2 * getSlot(entry) + entry % FragmentLayout::kEntries / 2];
}

/// A thread holds two rows per tile, shared by all columns.
Value ColumnTileLoop::getRowTile(OpBuilder &builder, Value value) {
  if (Value known = rowTiles.lookup(value))
    return known;
  int64_t rows = getNumRows(value), count = 2 * plan.getNumSlots(rows);
  SmallVector<Value> operands, tiles;
  if (Operation *op = value.getDefiningOp())
    for (auto [number, operand] : llvm::enumerate(op->getOperands()))
      if (cast<CellOpInterface>(op).getRowAccess(number) == RowAccess::Same) {
        operands.push_back(operand);
        tiles.push_back(getRowTile(builder, operand));
      }
  auto type = VectorType::get(count, getElementTypeOrSelf(value));
  auto emitRows = [&](OpBuilder &inThread, ValueRange own) {
    SmallVector<Value> made;
    for (int64_t i = 0; i < count; ++i) {
      Value inTile = layout->getRow(inThread, i % 2 * 2);
      Value row = limitRow(inThread, getTileRow(inThread, i / 2, inTile), rows);
      made.push_back(emitRow(inThread, value, row, [&](Value operand) {
        Value numbers = own[llvm::find(operands, operand) - operands.begin()];
        return vector::ExtractOp::create(inThread, loc, numbers, i).getResult();
      }));
    }
    return SmallVector<Value>{packScalars(inThread, loc, made)};
  };
  return rowTiles[value] = forEachThread(builder, tiles, type, emitRows).front();
}

Value ColumnTileLoop::emitRow(OpBuilder &builder, Value value, Value row,
                              function_ref<Value(Value operand)> read) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getArgNumber() < loop.saved.size())
      return savedPlaces[argument.getArgNumber()].load(builder, loc, row);
    return memref::LoadOp::create(builder, loc, getCapture(argument), row);
  }
  auto readOther = [&](Value operand, Value at) { return recomputeRow(builder, operand, at); };
  return cast<CellOpInterface>(value.getDefiningOp())
      .emitRow(builder, getElementTypeOrSelf(value), {row, /*spansRows=*/false, read, readOther});
}

/// Emits a row that the thread may not hold, by recomputing its operands.
Value ColumnTileLoop::recomputeRow(OpBuilder &builder, Value value, Value row) {
  return emitRow(builder, value, row,
                 [&](Value operand) { return recomputeRow(builder, operand, row); });
}

/// Columns past the end repeat the last one, which zeros multiply.
Value ColumnTileLoop::readMatrix(OpBuilder &builder, MatVecOp product, int64_t slot, Value depth) {
  int64_t rows = getNumRows(product.getResult()), columns = getNumRows(product.getVector());
  Value matrix = getCapture(product.getMatrix());
  auto read = [&](OpBuilder &inThread, Value inTile, Value column) -> Value {
    Value row = limitRow(inThread, getTileRow(inThread, slot, inTile), rows);
    column = addIndex(inThread, loc, depth, column);
    if (columns % getTileDepth(precision) != 0)
      column = minIndex(inThread, loc, column, getIndex(inThread, loc, columns - 1));
    if (product.getTransposed())
      std::swap(row, column);
    return memref::LoadOp::create(inThread, loc, matrix, ValueRange{row, column});
  };
  Type type = getFactorType(builder, 2);
  return forEachThread(builder, {}, type,
                       [&](OpBuilder &inThread, ValueRange) {
                         auto own = layout->readA(inThread, read);
                         return SmallVector<Value>{packScalars(inThread, loc, own)};
                       })
      .front();
}

int64_t ColumnTileLoop::countDepthTiles(MatVecOp product) const {
  return llvm::divideCeil(getNumRows(product.getVector()), getTileDepth(precision));
}

/// `threads` threads share the depth of a tile.
Type ColumnTileLoop::getFactorType(Builder &builder, int64_t threads) const {
  return VectorType::get(getTileDepth(precision) / threads, builder.getF32Type());
}

void ColumnTileLoop::readMatrices(OpBuilder &builder) {
  matrices.clear();
  if (!plan.keepsMatrices())
    return;
  for (auto product : region->front().getOps<MatVecOp>())
    for (int64_t slot = 0; slot < plan.getNumSlots(getNumRows(product.getResult())); ++slot)
      for (int64_t i = 0; i < countDepthTiles(product); ++i)
        matrices[product].push_back(readMatrix(
            builder, product, slot, getIndex(builder, loc, i * getTileDepth(precision))));
}

ColumnTileLoop::Fragments ColumnTileLoop::emitProduct(OpBuilder &builder, MatVecOp product) {
  Fragments sums;
  if (Value addend = product.getAddend())
    sums = getFragments(builder, addend);
  else
    sums = makeFragments(builder, getNumRows(product.getResult()), builder.getF32Type(), {},
                         [&](OpBuilder &inThread, size_t, const Numbers &) -> Value {
                           return arith::ConstantOp::create(inThread, loc,
                                                            inThread.getF32FloatAttr(0));
                         });
  int64_t count = countDepthTiles(product);
  auto getDepth = [&](OpBuilder &nested, Value number) {
    return mulIndex(nested, loc, number, getIndex(nested, loc, getTileDepth(precision)));
  };
  if (!plan.keepsMatrices())
    return emitFold(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, count), sums,
                    [&](OpBuilder &nested, Value number, ValueRange before) {
                      Value depth = getDepth(nested, number);
                      return addTiles(nested, product, depth, before, [&](int64_t slot) {
                        return readMatrix(nested, product, slot, depth);
                      });
                    });
  for (int64_t i = 0; i < count; ++i)
    sums = addTiles(builder, product, getDepth(builder, getIndex(builder, loc, i)), sums,
                    [&](int64_t slot) { return matrices[product][slot * count + i]; });
  return sums;
}

/// The depth tile begins at matrix column `depth`.
ColumnTileLoop::Fragments ColumnTileLoop::addTiles(OpBuilder &builder, MatVecOp product,
                                                   Value depth, ValueRange sums,
                                                   function_ref<Value(int64_t slot)> getMatrix) {
  Value array = arrays[product.getVector()];
  auto readFactors = [&](OpBuilder &inThread, ValueRange) {
    SmallVector<Value> fragments;
    for (int64_t i = 0; i < plan.getNumColumnTiles(); ++i) {
      auto read = [&](OpBuilder &nested, Value row, Value column) -> Value {
        column = addIndex(nested, loc, column, i * FragmentLayout::kColumns);
        SmallVector<Value> at = getSharedPlace(nested, addIndex(nested, loc, depth, row), column);
        return memref::LoadOp::create(nested, loc, array, at);
      };
      fragments.push_back(packScalars(inThread, loc, layout->readB(inThread, read)));
    }
    return fragments;
  };
  SmallVector<Type> types(plan.getNumColumnTiles(), getFactorType(builder, 4));
  SmallVector<Value> factors = forEachThread(builder, {}, types, readFactors);
  Fragments next;
  for (int64_t slot = 0; !sums.empty(); ++slot) {
    Value matrix = getMatrix(slot);
    for (Value factor : factors) {
      next.push_back(bgpu::MmaOp::create(builder, loc, sums.front().getType(), matrix, factor,
                                         sums.front(), precision));
      sums = sums.drop_front();
    }
  }
  return next;
}
