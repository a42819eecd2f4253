//===- EmitProduct.cpp - emit the loops of packed products ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A task computes a block of the result: it packs rows into the second-level cache and multiplies
// them with panels of lanes in the first-level cache.
//
//===----------------------------------------------------------------------===//

#include "PanelFunctions.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "bppsa/Support/RuntimeCalls.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

namespace {
struct FlatOperand {
  Value memory;
  SmallVector<Value> strides;
  Value begin;
};

class ProductEmitter {
public:
  ProductEmitter(const Product &product, const Blocking &blocking, OpBuilder &builder)
      : product(product), blocking(blocking), b(builder), loc(product.generic->getLoc()),
        functions(product.generic->getParentOfType<ModuleOp>(), loc, blocking.tile) {}

  void emit();

private:
  using Steps = PanelFunctions::Steps;
  struct Table {
    Value offsets;
    unsigned operand;
  };

  Value index(int64_t value) { return getIndex(b, loc, value); }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }
  Value mul(Value x, Value y) { return b.createOrFold<arith::MulIOp>(loc, x, y); }
  Value min(Value x, Value y) { return b.createOrFold<arith::MinSIOp>(loc, x, y); }
  Value remaining(Value end, Value begin, Value most) {
    return min(b.createOrFold<arith::SubIOp>(loc, end, begin), most);
  }

  FlatOperand flatten(unsigned operand);
  Value getSize(const LoopGroup &group);
  Value getLanesOfTask();
  Value getRowsOfTask();
  Value allocate(Type element, int64_t size);
  void allocateBuffers();
  void forEach(Value begin, Value end, Value step, function_ref<void(Value)> body);
  void forEachTask(ValueRange begins, ValueRange ends, ValueRange steps,
                   function_ref<void(ValueRange)> body);
  void emitOffsets(const LoopGroup &group, Value first, Value count, ArrayRef<Table> tables);
  void emitRowBlock(Value firstRow, Value firstLane);
  void emitTermBlock(Value numRows, Value firstLane, Value firstTerm);
  void packRows(Value numRows, Value numTerms);
  void emitLanePanel(Value numRows, Value firstLane, Value numLanes, Value numTerms);

  const Product &product;
  const Blocking &blocking;
  OpBuilder &b;
  Location loc;
  PanelFunctions functions;

  std::array<FlatOperand, 3> operands;
  SmallVector<Value> sizes;
  Value numRows, numLanes, numTerms, lanesOfTask, rowsOfTask;
  SmallVector<std::pair<unsigned, Value>> batch;
  Value rowPanels, lanePanel, sums;
  Value rowOffsets, rowTermOffsets, rowResultOffsets, laneOffsets, laneTermOffsets,
      laneResultOffsets;
};
} // namespace

FlatOperand ProductEmitter::flatten(unsigned operand) {
  Value array = product.generic->getOperand(operand);
  auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, array);
  SmallVector<Value> steps;
  for (OpFoldResult stride : metadata.getConstifiedMixedStrides())
    steps.push_back(getValueOrCreateConstantIndexOp(b, loc, stride));
  // The size spans the first to the last element.
  Value size = index(1);
  for (auto [i, step] : llvm::enumerate(steps))
    size = add(size, mul(step, addIndex(b, loc, getDim(b, loc, array, i), -1)));

  FlatOperand flat;
  flat.memory = memref::ReinterpretCastOp::create(
      b, loc,
      MemRefType::get({ShapedType::kDynamic}, b.getF32Type(),
                      StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, {1})),
      metadata.getBaseBuffer(), metadata.getConstifiedMixedOffset(), ArrayRef<OpFoldResult>{size},
      ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  for (const SmallVector<int64_t> &moves : product.moves[operand]) {
    Value stride = index(0);
    for (auto [step, move] : llvm::zip_equal(steps, moves))
      if (move != 0)
        stride = add(stride, mul(step, index(move)));
    flat.strides.push_back(stride);
  }
  flat.begin = flat.strides.pop_back_val();
  return flat;
}

Value ProductEmitter::getSize(const LoopGroup &group) {
  Value size = index(1);
  for (unsigned loop : group.loops)
    size = mul(size, sizes[loop]);
  return size;
}

Value ProductEmitter::getLanesOfTask() {
  if (blocking.lanes != 0)
    return index(blocking.lanes);
  LoopGroup shared = product.lanes;
  shared.loops.erase(shared.loops.begin(), shared.loops.end() - shared.numShared);
  Value size = b.createOrFold<arith::MaxSIOp>(loc, getSize(shared), index(1));
  Value times = b.createOrFold<arith::CeilDivUIOp>(loc, index(TileShape::minLanes), size);
  return mul(times, size);
}

Value ProductEmitter::getRowsOfTask() {
  int64_t most = blocking.rows / blocking.minRows;
  if (!blocking.isParallel || !blocking.areRowsApart || most < 2)
    return index(blocking.rows);
  Value others =
      mul(getSize(product.batch), b.createOrFold<arith::CeilDivUIOp>(loc, numLanes, lanesOfTask));
  Value parts = b.createOrFold<arith::CeilDivUIOp>(loc, numRows, index(blocking.minRows));
  Value size =
      emitTaskSize(b, loc, product.generic->getParentOfType<ModuleOp>(), mul(others, parts), most);
  return mul(size, index(blocking.minRows));
}

Value ProductEmitter::allocate(Type element, int64_t size) {
  Value buffer =
      memref::AllocaOp::create(b, loc, MemRefType::get({size}, element), b.getI64IntegerAttr(64));
  // The panel functions do not depend on sizes, so products can share them.
  return memref::CastOp::create(b, loc, MemRefType::get({ShapedType::kDynamic}, element), buffer);
}

void ProductEmitter::allocateBuffers() {
  const TileShape &tile = blocking.tile;
  Type f32 = b.getF32Type(), index = b.getIndexType();
  int64_t rows = llvm::alignTo(blocking.rows, tile.rows);
  if (!blocking.readsRowsInPlace)
    rowPanels = allocate(f32, rows * blocking.terms);
  lanePanel = allocate(f32, tile.lanes * blocking.terms);
  sums = allocate(f32, tile.rows * tile.lanes);
  rowOffsets = allocate(index, blocking.rows);
  rowResultOffsets = allocate(index, blocking.rows);
  rowTermOffsets = allocate(index, blocking.terms);
  laneTermOffsets = allocate(index, blocking.terms);
  laneOffsets = allocate(index, tile.lanes);
  laneResultOffsets = allocate(index, tile.lanes);
}

void ProductEmitter::forEach(Value begin, Value end, Value step, function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, loc, begin, end, step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void ProductEmitter::forEachTask(ValueRange begins, ValueRange ends, ValueRange steps,
                                 function_ref<void(ValueRange)> body) {
  OpBuilder::InsertionGuard guard(b);
  if (blocking.isParallel) {
    auto tasks = scf::ParallelOp::create(b, loc, begins, ends, steps);
    b.setInsertionPointToStart(tasks.getBody());
    allocateBuffers();
    return body(SmallVector<Value>(tasks.getInductionVars()));
  }
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&product.generic->getParentOfType<func::FuncOp>().front());
    allocateBuffers();
  }
  scf::LoopNest nest = scf::buildLoopNest(b, loc, begins, ends, steps);
  b.setInsertionPointToStart(nest.loops.back().getBody());
  SmallVector<Value> variables;
  for (scf::ForOp loop : nest.loops)
    variables.push_back(loop.getInductionVar());
  body(variables);
}

/// Writes the offsets of the iterations of `group` from `first` on.
void ProductEmitter::emitOffsets(const LoopGroup &group, Value first, Value count,
                                 ArrayRef<Table> tables) {
  bool isTerms = &group == &product.terms;
  bool isLanes = &group == &product.lanes;
  SmallVector<Value> bases;
  for (const Table &table : tables) {
    const FlatOperand &operand = operands[table.operand];
    Value base = index(0);
    if (!isTerms && !(isLanes && table.operand == Product::result)) {
      base = operand.begin;
      for (auto [loop, step] : batch)
        base = add(base, mul(step, operand.strides[loop]));
    }
    bases.push_back(base);
  }
  SmallVector<Value> bounds =
      llvm::map_to_vector(group.loops, [&](unsigned loop) { return sizes[loop]; });
  forEach(index(0), count, index(1), [&](Value step) {
    SmallVector<Value> digits = splitIndex(b, loc, add(first, step), bounds);
    for (auto [table, base] : llvm::zip_equal(tables, bases)) {
      Value offset = base;
      for (auto [loop, digit] : llvm::zip_equal(group.loops, digits))
        offset = add(offset, mul(digit, operands[table.operand].strides[loop]));
      memref::StoreOp::create(b, loc, offset, table.offsets, step);
    }
  });
}

void ProductEmitter::emit() {
  for (Range range : cast<linalg::LinalgOp>(*product.generic).createLoopRanges(b, loc))
    sizes.push_back(getValueOrCreateConstantIndexOp(b, loc, range.size));
  for (unsigned operand = 0; operand < 3; ++operand)
    operands[operand] = flatten(operand);
  numRows = getSize(product.rows);
  numLanes = getSize(product.lanes);
  numTerms = getSize(product.terms);
  lanesOfTask = getLanesOfTask();

  SmallVector<Value> begins, ends, steps;
  auto addLoop = [&](Value end, Value step) {
    begins.push_back(index(0));
    ends.push_back(end);
    steps.push_back(step);
  };
  for (unsigned loop : product.batch.loops)
    addLoop(sizes[loop], index(1));
  addLoop(numLanes, lanesOfTask);
  rowsOfTask = getRowsOfTask();
  if (blocking.areRowsApart)
    addLoop(numRows, rowsOfTask);
  forEachTask(begins, ends, steps, [&](ValueRange variables) {
    for (auto [loop, variable] : llvm::zip(product.batch.loops, variables))
      batch.push_back({loop, variable});
    Value firstLane = variables[batch.size()];
    if (blocking.areRowsApart)
      return emitRowBlock(variables.back(), firstLane);
    forEach(index(0), numRows, rowsOfTask, [&](Value row) { emitRowBlock(row, firstLane); });
  });
}

void ProductEmitter::emitRowBlock(Value firstRow, Value firstLane) {
  Value count = remaining(numRows, firstRow, rowsOfTask);
  emitOffsets(product.rows, firstRow, count,
              {{rowOffsets, product.rowFactor}, {rowResultOffsets, Product::result}});
  forEach(index(0), numTerms, index(blocking.terms),
          [&](Value term) { emitTermBlock(count, firstLane, term); });
}

void ProductEmitter::emitTermBlock(Value count, Value firstLane, Value firstTerm) {
  Value terms = remaining(numTerms, firstTerm, index(blocking.terms));
  emitOffsets(product.terms, firstTerm, terms,
              {{rowTermOffsets, product.rowFactor}, {laneTermOffsets, product.laneFactor}});
  if (!blocking.readsRowsInPlace)
    packRows(count, terms);
  Value end = min(numLanes, add(firstLane, lanesOfTask));
  Value width = index(blocking.tile.lanes);
  forEach(firstLane, end, width,
          [&](Value lane) { emitLanePanel(count, lane, remaining(end, lane, width), terms); });
}

void ProductEmitter::packRows(Value count, Value terms) {
  Value height = index(blocking.tile.rows);
  forEach(index(0), count, height, [&](Value row) {
    functions.pack(b, operands[product.rowFactor].memory,
                   {rowOffsets, row, remaining(count, row, height)},
                   {rowTermOffsets, index(0), terms}, rowPanels, mul(row, terms),
                   blocking.tile.rows, blocking.rowChunk);
  });
}

void ProductEmitter::emitLanePanel(Value count, Value firstLane, Value lanes, Value terms) {
  emitOffsets(product.lanes, firstLane, lanes,
              {{laneOffsets, product.laneFactor}, {laneResultOffsets, Product::result}});
  Steps laneSteps{laneOffsets, index(0), lanes};
  functions.pack(b, operands[product.laneFactor].memory, laneSteps,
                 {laneTermOffsets, index(0), terms}, lanePanel, index(0), blocking.tile.lanes,
                 blocking.laneChunk);
  Value height = index(blocking.tile.rows);
  forEach(index(0), count, height, [&](Value row) {
    Value rows = remaining(count, row, height);
    if (blocking.readsRowsInPlace)
      functions.multiplyInPlace(b, operands[product.rowFactor].memory, {rowOffsets, row, rows},
                                {rowTermOffsets, index(0), terms}, lanePanel, sums);
    else
      functions.multiply(b, rowPanels, mul(row, terms), lanePanel, terms, sums);
    functions.add(b, sums, operands[Product::result].memory, {rowResultOffsets, row, rows},
                  {laneResultOffsets, index(0), lanes}, blocking.resultChunk);
  });
}

void bppsa::emitProduct(const Product &product, const Blocking &blocking, OpBuilder &builder) {
  ProductEmitter(product, blocking, builder).emit();
}
