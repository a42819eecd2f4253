//===- StepTiles.cpp - body steps as tiles of a block ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepTiles.h"
#include "../../../Codegen/GPU/Launch.h"
#include "../ThreadNumbers.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace bppsa;

FailureOr<StepTiles> StepTiles::create(Block &body, ValueRange captures, GPUMappingAttr mapping) {
  FailureOr<BodyPlan> plan = BodyPlan::create(body, captures.size());
  if (failed(plan))
    return failure();
  return StepTiles(std::move(*plan), body, mapping, captures.size());
}

StepTiles::StepTiles(BodyPlan plan, Block &body, GPUMappingAttr mapping, size_t numCaptures)
    : RowTiles(std::move(plan), body, numCaptures), parts(mapping.getParts()),
      numThreads(mapping.getThreads()), inRegisters(mapping.keepsMatricesInRegisters()) {}

static bool needsOtherRows(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    auto cell = dyn_cast<CellOpInterface>(use.getOwner());
    RowAccess access = cell ? cell.getRowAccess(use.getOperandNumber()) : RowAccess::Same;
    return access == RowAccess::All || access == RowAccess::Other;
  });
}

RankedTensorType StepTiles::getTileType(Value value) const {
  return bgpu::getTileType(getNumRows(value), getElementTypeOrSelf(value), parts);
}

RowProduct StepTiles::getRowProduct(MatVecOp product) const {
  return RowProduct(product, getArray(product.getMatrix()), parts);
}

SmallVector<Value> StepTiles::forEachPart(OpBuilder &builder, Location loc, int64_t rows,
                                          ValueRange ofParts, TypeRange elements,
                                          PartBody partBody) const {
  SmallVector<int64_t> shape = {rows};
  if (parts > 1)
    shape.push_back(parts);
  auto each = bgpu::ForEachOp::create(
      builder, loc, shape, ofParts, elements,
      [&](OpBuilder &inThread, ValueRange at, ValueRange own) {
        return partBody(inThread, at[0], parts > 1 ? at[1] : getIndex(inThread, loc, 0), own);
      });
  each.setRepeatLast(true);
  return llvm::to_vector_of<Value>(each.getResults());
}

SmallVector<Value> StepTiles::forEachPosition(OpBuilder &builder, Location loc, int64_t rows,
                                              ValueRange ofPositions, TypeRange elements,
                                              RowBody rowBody) const {
  auto each = bgpu::ForEachOp::create(
      builder, loc, rows, ofPositions, elements,
      [&](OpBuilder &inThread, ValueRange at, ValueRange own) {
        return rowBody(inThread, at, at[0], own);
      },
      parts);
  each.setRepeatLast(true);
  return llvm::to_vector_of<Value>(each.getResults());
}

Value StepTiles::forEachRow(OpBuilder &builder, Location loc, int64_t rows, Type element,
                            function_ref<Value(OpBuilder &, Value)> rowBody) const {
  auto emitRow = [&](OpBuilder &inThread, ValueRange, Value row, ValueRange) {
    return SmallVector<Value>{rowBody(inThread, row)};
  };
  return forEachPosition(builder, loc, rows, {}, element, emitRow).front();
}

Value StepTiles::load(OpBuilder &builder, Location loc, const Place &array, int64_t rows) const {
  return forEachRow(builder, loc, rows, getElementTypeOrSelf(array.memref),
                    [&](OpBuilder &inThread, Value row) { return array.load(inThread, loc, row); });
}

void StepTiles::store(OpBuilder &builder, Location loc, Value tile, const Place &array) const {
  auto each = bgpu::ForEachOp::create(
      builder, loc, cast<RankedTensorType>(tile.getType()).getShape(), tile,
      [&](OpBuilder &inThread, ValueRange at, ValueRange element) {
        array.store(inThread, loc, element[0], at[0]);
      },
      parts);
  each.setRepeatLast(true);
}

void StepTiles::begin(OpBuilder &builder, Location loc, ValueRange captures) {
  loadCaptures(builder, loc, captures);
  if (!inRegisters)
    return;
  for (const RowUnit &unit : plan.getUnits())
    for (const ProductSum &sum : unit.sums)
      for (MatVecOp product : sum.products)
        loadMatrixRows(builder, product);
}

void StepTiles::loadMatrixRows(OpBuilder &builder, MatVecOp product) {
  RowProduct ofRow = getRowProduct(product);
  auto type = VectorType::get(ofRow.getNumColumns(), getElementTypeOrSelf(product.getResult()));
  Location loc = product.getLoc();
  auto loadRow = [&](OpBuilder &inThread, Value row, Value part, ValueRange) -> SmallVector<Value> {
    return {packScalars(inThread, loc, ofRow.loadEntries(inThread, row, part))};
  };
  matrixRows[product] =
      forEachPart(builder, loc, getNumRows(product.getResult()), {}, type, loadRow).front();
}

void StepTiles::setTile(unsigned argument, Value tile) {
  tiles[body->getArgument(argument)] = tile;
}

void StepTiles::setVector(unsigned argument, Place vector) {
  vectors[body->getArgument(argument)] = std::move(vector);
}

Place StepTiles::getVector(OpBuilder &builder, Value value) {
  if (auto known = vectors.find(value); known != vectors.end())
    return known->second;
  Value tile = getTile(builder, value);
  Place shared = {bgpu::ShareOp::create(builder, value.getLoc(), tile), {}};
  vectors[value] = shared;
  return shared;
}

void StepTiles::emitStep(OpBuilder &builder, Location loc, Yield yield, ReadMore readMore) {
  factors.clear();
  for (BlockArgument argument : body->getArguments().take_front(firstCapture))
    if (needsOtherRows(argument))
      getVector(builder, argument);
  for (const RowUnit &unit : plan.getUnits()) {
    std::optional<int64_t> left = loadAhead(builder, unit);
    if (left && readMore)
      std::exchange(readMore, nullptr)(builder, *left);
    for (const ProductSum &sum : unit.sums)
      tiles[sum.result] = emitProductSum(builder, loc, sum, unit.rows);
    // All values of a unit are shared in a single branch.
    auto shared = llvm::to_vector(llvm::make_filter_range(unit.stored, needsOtherRows));
    for (Value value : shared)
      getTile(builder, value);
    for (Value value : shared)
      getVector(builder, value);
    for (Value value : unit.stored) {
      Value tile = getTile(builder, value);
      if (llvm::is_contained(body->getTerminator()->getOperands(), value))
        yield(value, tile);
    }
  }
  tiles.clear();
  vectors.clear();
}

Value StepTiles::loadArgument(OpBuilder &builder, BlockArgument argument) {
  return load(builder, argument.getLoc(), vectors.lookup(argument), getNumRows(argument));
}

RowTiles::ReadRow StepTiles::shareRows(OpBuilder &builder, Value value) {
  Place vector = getVector(builder, value);
  return [vector, loc = value.getLoc()](OpBuilder &inThread, ValueRange, Value row) {
    return vector.load(inThread, loc, row);
  };
}

int64_t StepTiles::countAhead() const {
  int64_t registers = numReserved;
  for (const RowUnit &unit : plan.getUnits())
    for (const ProductSum &sum : unit.sums)
      for (MatVecOp product : sum.products)
        registers += getRowProduct(product).getNumColumns();
  return inRegisters ? countReadAhead(registers, firstCapture) : 0;
}

/// Reads as many vectors of products ahead as fit into registers.
std::optional<int64_t> StepTiles::loadAhead(OpBuilder &builder, const RowUnit &unit) {
  factors.clear();
  SmallVector<MatVecOp> ahead;
  SmallVector<Type> types;
  int64_t left = countAhead();
  auto isAhead = [&](Value vector) {
    return llvm::any_of(ahead, [&](MatVecOp other) { return other.getVector() == vector; });
  };
  for (const ProductSum &sum : unit.sums)
    for (MatVecOp product : sum.products) {
      int64_t columns = getRowProduct(product).getNumColumns();
      if (isAhead(product.getVector()) || columns > left)
        continue;
      left -= columns;
      ahead.push_back(product);
      types.push_back(VectorType::get(columns, getElementTypeOrSelf(product.getResult())));
    }
  if (ahead.empty())
    return std::nullopt;
  auto places = llvm::map_to_vector(
      ahead, [&](MatVecOp product) { return getVector(builder, product.getVector()); });
  SmallVector<Value> loaded =
      forEachPart(builder, ahead.front().getLoc(), unit.rows, {}, types,
                  [&](OpBuilder &inThread, Value, Value part, ValueRange) {
                    SmallVector<Value> all;
                    for (auto [product, place] : llvm::zip_equal(ahead, places)) {
                      RowProduct ofRow = getRowProduct(product);
                      SmallVector<Value> elements;
                      for (int64_t i = 0, e = ofRow.getNumColumns(); i < e; ++i)
                        elements.push_back(ofRow.loadFactor(inThread, place, part, i));
                      all.push_back(packScalars(inThread, product.getLoc(), elements));
                    }
                    return all;
                  });
  for (auto [product, tile] : llvm::zip_equal(ahead, loaded))
    factors[product.getVector()] = tile;
  return left;
}

Value StepTiles::emitProductSum(OpBuilder &builder, Location loc, const ProductSum &sum,
                                int64_t rows) {
  SmallVector<Value> ofParts;
  SmallVector<Place> places;
  for (MatVecOp product : sum.products) {
    for (Value tile : {matrixRows.lookup(product), factors.lookup(product.getVector())})
      if (tile)
        ofParts.push_back(tile);
    places.push_back(getVector(builder, product.getVector()));
  }
  Type element = getElementTypeOrSelf(sum.result);
  auto addUp = [&](OpBuilder &inThread, Value row, Value part, ValueRange own) {
    Value zero = arith::ConstantOp::create(inThread, loc, inThread.getZeroAttr(element));
    SmallVector<Value> partials(kNumPartials, zero);
    for (auto [number, place] : llvm::enumerate(places))
      own = own.drop_front(
          addProduct(inThread, sum.products[number], place, row, part, own, partials));
    return SmallVector<Value>{addPartials(inThread, loc, std::move(partials))};
  };
  Value total = forEachPart(builder, loc, rows, ofParts, element, addUp).front();
  if (parts > 1)
    total = bgpu::ReduceAcrossOp::create(builder, loc, getTileType(sum.result),
                                         vector::CombiningKind::ADD, total);
  if (!sum.addend)
    return total;
  return arith::AddFOp::create(builder, loc, total, getTile(builder, sum.addend));
}

size_t StepTiles::addProduct(OpBuilder &builder, MatVecOp product, const Place &vector, Value row,
                             Value part, ValueRange own, MutableArrayRef<Value> partials) const {
  RowProduct ofRow = getRowProduct(product);
  if (!inRegisters) {
    partials[0] = ofRow.accumulateFromMemory(builder, vector, row, partials[0]);
    return 0;
  }
  Location loc = product.getLoc();
  bool isAhead = factors.contains(product.getVector());
  auto getFactor = [&](int64_t i) -> Value {
    if (isAhead)
      return vector::ExtractOp::create(builder, loc, own[1], i);
    return ofRow.loadFactor(builder, vector, part, i);
  };
  SmallVector<Value> entries;
  for (int64_t i = 0, e = ofRow.getNumColumns(); i < e; ++i)
    entries.push_back(vector::ExtractOp::create(builder, loc, own[0], i));
  ofRow.accumulate(builder, entries, getFactor, partials);
  return isAhead ? 2 : 1;
}
