//===- RowTiles.cpp - body values as tiles of rows ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RowTiles.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace bppsa;

void RowTiles::loadCaptures(OpBuilder &builder, Location loc, ValueRange inKernel) {
  arrays.assign(inKernel.begin(), inKernel.end());
  for (auto [argument, array] :
       llvm::zip_equal(body->getArguments().drop_front(firstCapture), arrays)) {
    if (cast<VectorType>(argument.getType()).getRank() != 1 || argument.use_empty())
      continue;
    auto loadRow = [&, array = array](OpBuilder &inThread, ValueRange, Value row, ValueRange) {
      return SmallVector<Value>{memref::LoadOp::create(inThread, loc, array, row)};
    };
    captured[argument] = forEachPosition(builder, loc, getNumRows(argument), {},
                                         getElementTypeOrSelf(argument), loadRow)
                             .front();
  }
}

Value RowTiles::getArray(Value capture) const {
  return arrays[cast<BlockArgument>(capture).getArgNumber() - firstCapture];
}

Value RowTiles::getTile(OpBuilder &builder, Value value) {
  if (Value tile = plan.isCapture(value) ? captured.lookup(value) : tiles.lookup(value))
    return tile;
  Value tile;
  if (auto argument = dyn_cast<BlockArgument>(value))
    tile = loadArgument(builder, argument);
  else if (value.getDefiningOp()->hasTrait<OpTrait::Tensorizable>())
    tile = emitElementwise(builder, value.getDefiningOp());
  else
    tile = emitRows(builder, cast<CellOpInterface>(value.getDefiningOp()));
  return tiles[value] = tile;
}

Value RowTiles::emitElementwise(OpBuilder &builder, Operation *op) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, getTile(builder, operand));
  Operation *onTiles = builder.clone(*op, mapping);
  onTiles->getResult(0).setType(getTileType(op->getResult(0)));
  return onTiles->getResult(0);
}

Value RowTiles::emitRows(OpBuilder &builder, CellOpInterface cell) {
  Value result = cell->getResult(0);
  DenseMap<Value, ReadRow> others;
  SmallVector<Value> same, ofSame;
  for (auto [number, operand] : llvm::enumerate(cell->getOperands())) {
    if (cell.getRowAccess(number) == RowAccess::Other) {
      others[operand] = shareRows(builder, operand);
    } else {
      same.push_back(operand);
      ofSame.push_back(getTile(builder, operand));
    }
  }
  Type element = getElementTypeOrSelf(result);
  auto emitRow = [&](OpBuilder &inThread, ValueRange at, Value row, ValueRange elements) {
    auto readSame = [&](Value operand) {
      return elements[llvm::find(same, operand) - same.begin()];
    };
    auto readOther = [&](Value operand, Value other) {
      return others.lookup(operand)(inThread, at, other);
    };
    return SmallVector<Value>{
        cell.emitRow(inThread, element, {row, /*spansRows=*/false, readSame, readOther})};
  };
  return forEachPosition(builder, cell.getLoc(), getNumRows(result), ofSame, element, emitRow)
      .front();
}
