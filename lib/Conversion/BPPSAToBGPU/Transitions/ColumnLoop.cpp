//===- ColumnLoop.cpp - a column of a transition per thread ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ColumnLoop.h"
#include "../../../Codegen/GPU/LinkSteps.h"
#include "../ThreadNumbers.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace bppsa;

FailureOr<ColumnLoop> ColumnLoop::create(const CotangentLoop &loop, GPUMappingAttr mapping) {
  std::unique_ptr<Region> link = cloneLink(loop, {/*inject=*/false, /*emit=*/false});
  std::string obstacle = findObstacleToThreads(loop, link->front(), mapping.getParts());
  if (!obstacle.empty())
    return loop.op->emitOpError("cannot be mapped to 'thread_per_column', which needs ")
           << obstacle << "; use block_per_column";
  return ColumnLoop(loop, std::move(link), mapping);
}

ColumnLoop::ColumnLoop(const CotangentLoop &loop, std::unique_ptr<Region> link,
                       GPUMappingAttr mapping)
    : loop(loop), loc(loop.op->getLoc()), region(std::move(link)),
      factors(getFactors(region->front())), parts(mapping.getParts()),
      inRegisters(mapping.keepsMatricesInRegisters()) {
  SmallVector<Value> sources;
  for (auto [number, saved] : llvm::enumerate(loop.saved))
    if (!region->front().getArgument(number).use_empty()) {
      readSaved.push_back(number);
      sources.push_back(saved);
    }
  if (parts > 1)
    for (auto product : region->front().getOps<MatVecOp>())
      exchanges[product.getVector()] = Value();
  if (mapping.getStages() > 0 && !sources.empty())
    ring.emplace(loc, sources, mapping.getStages(), loop.getTotalSize(), getColumnsOfWarp(), parts);
  planSteps();
}

size_t ColumnLoop::getFactor(MatVecOp product) const {
  return llvm::find_if(factors,
                       [&](const LinkFactor &factor) {
                         return factor.matrix == product.getMatrix() &&
                                factor.isTransposed == product.getTransposed();
                       }) -
         factors.begin();
}

Value ColumnLoop::getCapture(BlockArgument argument) const {
  unsigned first = region->front().getNumArguments() - loop.captures.size();
  return arrays.lookup(loop.captures[argument.getArgNumber() - first]);
}

void ColumnLoop::emitKernel(OpBuilder &builder, Value numColumns,
                            function_ref<void(OpBuilder &, Value)> body) {
  count = numColumns;
  Value size = getIndex(builder, loc, getColumnsOfWarp());
  Value numBlocks = arith::CeilDivUIOp::create(builder, loc, count, size);
  auto kernel = bgpu::KernelOp::create(builder, loc, numBlocks, kWarpThreads, body);
  // Entries in shared memory need registers for reading ahead.
  kernel.setManyBlocks(inRegisters);
}

Value ColumnLoop::begin(OpBuilder &builder, Value ownBlock, Value written) {
  block = ownBlock;
  SmallVector<Value> all(loop.saved);
  llvm::append_range(all, loop.captures);
  all.push_back(written);
  arrays = separateArrays(builder, loc, all);
  for (auto &[vector, array] : exchanges)
    array = allocate(builder, getColumnsOfWarp(), getNumRows(vector), vector.getType());
  if (inRegisters)
    loadFactors(builder);
  else
    copyFactors(builder);
  return arrays.lookup(written);
}

SmallVector<Value> ColumnLoop::forEachThread(OpBuilder &builder, ValueRange tiles,
                                             TypeRange elements, ThreadBody body) {
  SmallVector<int64_t> shape = {getColumnsOfWarp()};
  if (parts > 1)
    shape.push_back(parts);
  auto emitBody = [&](OpBuilder &inThread, ValueRange at, ValueRange own) {
    columnOfWarp = at[0];
    part = parts > 1 ? at[1] : getIndex(inThread, loc, 0);
    return body(inThread, own);
  };
  auto each = bgpu::ForEachOp::create(builder, loc, shape, tiles, elements, emitBody);
  return llvm::to_vector_of<Value>(each.getResults());
}

/// The result may exceed the number of columns.
Value ColumnLoop::getPosition(OpBuilder &builder) const {
  Value first = mulIndex(builder, loc, block, getIndex(builder, loc, getColumnsOfWarp()));
  return addIndex(builder, loc, first, columnOfWarp);
}

/// The result is clamped to the last column.
Value ColumnLoop::getNumber(OpBuilder &builder) const {
  return minIndex(builder, loc, getPosition(builder), addIndex(builder, loc, count, -1));
}

/// Rows are counted through all states.
SmallVector<BlockCyclicLayout::Element> ColumnLoop::getRows(OpBuilder &builder) const {
  SmallVector<BlockCyclicLayout::Element> rows;
  int64_t first = 0;
  for (size_t i = 0; i < loop.getNumStates(); first += loop.getStateSize(i++))
    for (int64_t slot = 0, e = layout(loop.getStateSize(i)).getNumSlots(); slot < e; ++slot) {
      BlockCyclicLayout::Element row =
          layout(loop.getStateSize(i)).getElement(builder, loc, part, slot);
      rows.push_back({addIndex(builder, loc, row.index, first), row.exists});
    }
  return rows;
}

int64_t ColumnLoop::countRows() const {
  int64_t sum = 0;
  for (size_t i = 0; i < loop.getNumStates(); ++i)
    sum += layout(loop.getStateSize(i)).getNumSlots();
  return sum;
}

Value ColumnLoop::makeRows(OpBuilder &builder, RowOfColumn value) {
  auto type = VectorType::get(countRows(), loop.getElementType());
  return forEachThread(builder, {}, type,
                       [&](OpBuilder &inThread, ValueRange) {
                         Value number = getNumber(inThread);
                         Rows rows;
                         for (const BlockCyclicLayout::Element &row : getRows(inThread))
                           rows.push_back(value(inThread, number, row.index));
                         return SmallVector<Value>{packScalars(inThread, loc, rows)};
                       })
      .front();
}

void ColumnLoop::forEachRow(OpBuilder &builder, Value rows,
                            function_ref<StoreRow(OpBuilder &, Value)> getStore) {
  forEachThread(builder, rows, {}, [&](OpBuilder &inThread, ValueRange own) {
    SmallVector<Value> values = unpackScalars(inThread, loc, own[0]);
    StoreRow store = getStore(inThread, getNumber(inThread));
    SmallVector<BlockCyclicLayout::Element> places = getRows(inThread);
    Value exists = isBelow(inThread, loc, getPosition(inThread), count);
    emitIf(inThread, loc, exists, [&](OpBuilder &inColumn) {
      for (auto [row, value] : llvm::zip_equal(places, values)) {
        auto storeRow = [&, row = row, value = value](OpBuilder &b) { store(b, row.index, value); };
        if (row.exists)
          emitIf(inColumn, loc, row.exists, storeRow);
        else
          storeRow(inColumn);
      }
    });
    return SmallVector<Value>();
  });
}

Value ColumnLoop::run(OpBuilder &builder, const ColumnRuns &ofColumns, Value rows) {
  runs = &ofColumns;
  SmallVector<Value> carried = {rows};
  if (ring)
    carried.push_back(ring->begin(builder, block, arrays, ofColumns));
  auto emitLink = [&](OpBuilder &nested, Value link, ValueRange before) {
    // The barrier keeps LLVM from hoisting the invariant matrix loads, which do not fit into
    // registers.
    if (!inRegisters && !ring)
      gpu::BarrierOp::create(nested, loc);
    SavedPlaces saved = {{}, link};
    if (ring)
      saved.slots = ring->getSlots(nested, link);
    SmallVector<Value> after = {emitStep(nested, saved, before[0])};
    if (ring)
      after.push_back(ring->advance(nested, link, before[1]));
    return after;
  };
  return emitFold(builder, loc, getIndex(builder, loc, 0), runs->length, carried, emitLink).front();
}

Value ColumnLoop::allocate(OpBuilder &builder, int64_t numVectors, int64_t rows, Type vector) {
  int64_t stride = llvm::alignTo(rows, std::max(parts, kElementsPerAccess));
  return memref::AllocOp::create(
      builder, loc, bgpu::getSharedType({numVectors, stride}, getElementTypeOrSelf(vector)));
}

static Value loadFactor(OpBuilder &builder, Location loc, Value matrix, bool isTransposed,
                        Value row, int64_t column) {
  SmallVector<Value> at = {row, getIndex(builder, loc, column)};
  if (isTransposed)
    std::swap(at[0], at[1]);
  return memref::LoadOp::create(builder, loc, matrix, at);
}

/// Used with one thread per column: each copies a row of each factor with independent loads.
void ColumnLoop::copyFactors(OpBuilder &builder) {
  copies.clear();
  entries.clear();
  for (const LinkFactor &factor : factors) {
    Value copy = allocate(builder, factor.numColumns, factor.numRows, factor.matrix.getType());
    copies.push_back(copy);
    Value matrix = getCapture(factor.matrix);
    bgpu::ForEachOp::create(
        builder, loc, factor.numRows, ValueRange(),
        [&](OpBuilder &inThread, ValueRange row, ValueRange) {
          for (int64_t i = 0; i < factor.numColumns; ++i) {
            Value entry = loadFactor(inThread, loc, matrix, factor.isTransposed, row[0], i);
            memref::StoreOp::create(inThread, loc, entry, copy,
                                    ValueRange{getIndex(inThread, loc, i), row[0]});
          }
        });
  }
}

void ColumnLoop::loadFactors(OpBuilder &builder) {
  entryTiles.clear();
  entries.assign(factors.size(), {});
  for (const LinkFactor &factor : factors) {
    int64_t numSlots = layout(factor.numRows).getNumSlots();
    auto type = VectorType::get(factor.numColumns * numSlots, loop.getElementType());
    auto load = [&](OpBuilder &inThread, ValueRange) {
      Rows own;
      for (int64_t i = 0; i < factor.numColumns; ++i)
        for (int64_t slot = 0; slot < numSlots; ++slot)
          own.push_back(loadFactor(inThread, loc, getCapture(factor.matrix), factor.isTransposed,
                                   getRow(inThread, factor.numRows, slot), i));
      return SmallVector<Value>{packScalars(inThread, loc, own)};
    };
    entryTiles.append(forEachThread(builder, {}, type, load));
  }
}

Value ColumnLoop::loadEntry(OpBuilder &builder, size_t factor, int64_t column, int64_t slot) {
  if (inRegisters)
    return entries[factor][column * layout(factors[factor].numRows).getNumSlots() + slot];
  return memref::LoadOp::create(
      builder, loc, copies[factor],
      ValueRange{getIndex(builder, loc, column), getIndex(builder, loc, slot)});
}
