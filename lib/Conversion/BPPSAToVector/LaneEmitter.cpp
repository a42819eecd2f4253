//===- LaneEmitter.cpp - emits one step of a body -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LaneEmitter.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Rows and loops
//===----------------------------------------------------------------------===//

Value bppsa::getIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value bppsa::addIndex(OpBuilder &builder, Location loc, Value value, int64_t offset) {
  if (offset == 0)
    return value;
  return builder.createOrFold<arith::AddIOp>(loc, value, getIndex(builder, loc, offset));
}

void bppsa::emitFor(OpBuilder &builder, Location loc, Value lower, Value upper, int64_t step,
                    function_ref<void(OpBuilder &, Value)> body) {
  scf::ForOp::create(builder, loc, lower, upper, getIndex(builder, loc, step), ValueRange(),
                     [&](OpBuilder &nested, Location, Value iv, ValueRange) {
                       body(nested, iv);
                       scf::YieldOp::create(nested, loc);
                     });
}

VectorType Rows::getRowType() const {
  auto type = cast<MemRefType>(memref.getType());
  return VectorType::get(type.getShape().back(), type.getElementType());
}

Rows Rows::dropFront(int64_t count) const { return {memref, prefix, first + count}; }

static SmallVector<Value> getIndices(OpBuilder &builder, Location loc, const Rows &rows,
                                     Value row) {
  SmallVector<Value> indices(rows.prefix.begin(), rows.prefix.end());
  indices.push_back(addIndex(builder, loc, row, rows.first));
  indices.push_back(getIndex(builder, loc, 0));
  return indices;
}

Value Rows::load(OpBuilder &builder, Location loc, Value row) const {
  return vector::LoadOp::create(builder, loc, getRowType(), memref,
                                getIndices(builder, loc, *this, row));
}

void Rows::store(OpBuilder &builder, Location loc, Value vector, Value row) const {
  vector::StoreOp::create(builder, loc, vector, memref, getIndices(builder, loc, *this, row));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

FailureOr<LaneEmitter> LaneEmitter::create(Block &body, ValueRange captures,
                                           const LaneOptions &options) {
  FailureOr<BodyPlan> plan = BodyPlan::create(body, captures.size());
  if (failed(plan))
    return failure();
  return LaneEmitter(*plan, body, captures, options);
}

LaneEmitter::LaneEmitter(BodyPlan plan, Block &body, ValueRange captures,
                         const LaneOptions &options)
    : plan(std::move(plan)), body(&body), options(options),
      firstCapture(body.getNumArguments() - captures.size()), captures(captures) {}

VectorType LaneEmitter::getRowType(Type bodyType) const {
  return VectorType::get(options.lanes, cast<VectorType>(bodyType).getElementType());
}

void LaneEmitter::allocateScratch(OpBuilder &builder, Location loc) {
  auto yielded = body->getTerminator()->getOperands();
  for (const RowUnit &unit : plan.getUnits())
    for (Value value : unit.stored) {
      if (llvm::is_contained(yielded, value))
        continue;
      auto type = MemRefType::get({unit.rows, options.lanes},
                                  cast<VectorType>(value.getType()).getElementType());
      scratch[value] = {
          memref::AllocaOp::create(builder, loc, type, builder.getI64IntegerAttr(64)), {}, 0};
    }
}

void LaneEmitter::emitStep(OpBuilder &builder, Location loc, ArrayRef<Rows> stepArguments,
                           ArrayRef<Rows> stepResults) {
  arguments = stepArguments;
  results = stepResults;
  for (const RowUnit &unit : plan.getUnits())
    emitUnit(builder, loc, unit);
}

SmallVector<Rows> LaneEmitter::getHomes(Value value) const {
  SmallVector<Rows> homes;
  for (auto [operand, rows] : llvm::zip_equal(body->getTerminator()->getOperands(), results))
    if (operand == value)
      homes.push_back(rows);
  if (auto own = scratch.find(value); own != scratch.end())
    homes.push_back(own->second);
  return homes;
}

Rows LaneEmitter::getHome(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (argument.getArgNumber() < firstCapture)
      return arguments[argument.getArgNumber()];
  return getHomes(value).front();
}

void LaneEmitter::emitUnit(OpBuilder &builder, Location loc, const RowUnit &unit) {
  bool rowwise = false;
  for (Value value : unit.stored) {
    if (auto insert = value.getDefiningOp<vector::InsertStridedSliceOp>())
      emitInsert(builder, loc, insert);
    else
      rowwise = true;
  }
  if (!rowwise)
    return;
  // Without products one row at a time fills the pipelines: rows are independent.
  int64_t block = 1;
  if (!unit.sums.empty()) {
    int64_t most = std::max<int64_t>(1, options.getNumAccumulators() / unit.sums.size());
    int64_t numBlocks = (unit.rows + most - 1) / most;
    block = (unit.rows + numBlocks - 1) / numBlocks;
    for (int64_t divisor = block; divisor >= 2 * most / 3 && divisor > 0; --divisor)
      if (unit.rows % divisor == 0) {
        block = divisor;
        break;
      }
  }
  int64_t numFull = unit.rows / block;
  if (numFull > 1)
    emitFor(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, numFull * block), block,
            [&](OpBuilder &nested, Value row) { emitRowBlock(nested, loc, unit, row, block); });
  else
    emitRowBlock(builder, loc, unit, getIndex(builder, loc, 0), block);
  if (int64_t rest = unit.rows % block)
    emitRowBlock(builder, loc, unit, getIndex(builder, loc, numFull * block), rest);
}

void LaneEmitter::emitInsert(OpBuilder &builder, Location loc, vector::InsertStridedSliceOp op) {
  int64_t offset = cast<IntegerAttr>(op.getOffsets()[0]).getInt();
  int64_t size = getNumRows(op.getValueToStore()), rows = getNumRows(op.getResult());
  SmallVector<Rows> homes = getHomes(op.getResult());
  auto copy = [&](int64_t from, int64_t to, Rows source) {
    if (from == to)
      return;
    emitFor(builder, loc, getIndex(builder, loc, from), getIndex(builder, loc, to), 1,
            [&](OpBuilder &nested, Value row) {
              Value value = source.load(nested, loc, row);
              for (const Rows &home : homes)
                home.store(nested, loc, value, row);
            });
  };
  Rows base = getHome(op.getDest());
  copy(0, offset, base);
  copy(offset, offset + size, getHome(op.getValueToStore()).dropFront(-offset));
  copy(offset + size, rows, base);
}

void LaneEmitter::emitRowBlock(OpBuilder &builder, Location loc, const RowUnit &unit,
                               Value firstRow, int64_t count) {
  SmallVector<Value> rows;
  for (int64_t i = 0; i < count; ++i)
    rows.push_back(addIndex(builder, loc, firstRow, i));
  SmallVector<RowValues> values = emitProductSums(builder, loc, unit, rows);
  for (auto [row, known] : llvm::zip_equal(rows, values))
    emitRow(builder, loc, unit, row, known);
}

void LaneEmitter::emitRow(OpBuilder &builder, Location loc, const RowUnit &unit, Value row,
                          RowValues &values) {
  // All loads come first: a result may lie over an argument.
  SmallVector<std::pair<Value, Value>> stores;
  for (Value value : unit.stored)
    if (!value.getDefiningOp<vector::InsertStridedSliceOp>())
      stores.emplace_back(value, getRow(builder, loc, value, unit, row, values));
  for (auto [value, vector] : stores)
    for (const Rows &home : getHomes(value))
      home.store(builder, loc, vector, row);
}

Value LaneEmitter::getRow(OpBuilder &builder, Location loc, Value value, const RowUnit &unit,
                          Value row, RowValues &values) {
  if (Value known = values.lookup(value))
    return known;
  Value result;
  Operation *op = value.getDefiningOp();
  if (plan.isCapture(value)) {
    Value array = captures[cast<BlockArgument>(value).getArgNumber() - firstCapture];
    Value entry = memref::LoadOp::create(builder, loc, array, row);
    result = vector::BroadcastOp::create(builder, loc, getRowType(value.getType()), entry);
  } else if (plan.isLoadedAt(value, unit)) {
    result = getHome(value).load(builder, loc, row);
  } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    result = emitConstant(builder, loc, constant, row);
  } else if (auto slice = dyn_cast<vector::ExtractStridedSliceOp>(op)) {
    int64_t offset = cast<IntegerAttr>(slice.getOffsets()[0]).getInt();
    result = getHome(slice.getSource()).dropFront(offset).load(builder, loc, row);
  } else {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (isa<VectorType>(operand.getType()))
        mapping.map(operand, getRow(builder, loc, operand, unit, row, values));
    Operation *rowOp = op->clone(mapping);
    rowOp->getResult(0).setType(getRowType(value.getType()));
    builder.insert(rowOp);
    result = rowOp->getResult(0);
  }
  values[value] = result;
  return result;
}

Value LaneEmitter::emitConstant(OpBuilder &builder, Location loc, arith::ConstantOp op, Value row) {
  VectorType type = getRowType(op.getType());
  auto dense = cast<DenseElementsAttr>(op.getValue());
  if (dense.isSplat())
    return arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, dense.getSplatValue<Attribute>()));
  Value all = arith::ConstantOp::create(builder, loc, dense);
  Value entry = vector::ExtractOp::create(builder, loc, all, OpFoldResult(row));
  return vector::BroadcastOp::create(builder, loc, type, entry);
}
