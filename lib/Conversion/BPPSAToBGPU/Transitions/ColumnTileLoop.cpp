//===- ColumnTileLoop.cpp - a column tile per block -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ColumnTileLoop.h"
#include "../../../Codegen/GPU/Launch.h"
#include "../../../Codegen/GPU/LinkSteps.h"
#include "../ThreadNumbers.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"

using namespace mlir;
using namespace bppsa;

ColumnTileLoop::ColumnTileLoop(const CotangentLoop &loop, std::unique_ptr<Region> link,
                               ColumnTilePlan ownPlan, GPUMappingAttr mapping)
    : loop(loop), loc(loop.op->getLoc()), region(std::move(link)), plan(std::move(ownPlan)),
      sources(loc, loop.saved, mapping.getStages()), precision(mapping.getPrecision()) {
  plan.setMapping(mapping);
}

FailureOr<ColumnTileLoop> ColumnTileLoop::create(const CotangentLoop &loop,
                                                 GPUMappingAttr mapping) {
  std::unique_ptr<Region> link = cloneLink(loop, {/*inject=*/false, /*emit=*/false});
  std::optional<ColumnTilePlan> plan = ColumnTilePlan::create(loop, link->front());
  if (!plan)
    return loop.op->emitOpError("cannot be mapped to 'column_tile', which needs vectors of f32 and "
                                "products of cotangents with captured matrices; use "
                                "block_per_column");
  return ColumnTileLoop(loop, std::move(link), std::move(*plan), mapping);
}

int64_t ColumnTileLoop::getNumColumns() const {
  return plan.getNumColumnTiles() * FragmentLayout::kColumns;
}

Value ColumnTileLoop::getCapture(Value argument) const {
  unsigned first = region->front().getNumArguments() - loop.captures.size();
  Value array = loop.captures[cast<BlockArgument>(argument).getArgNumber() - first];
  return kernelArrays.lookup(array);
}

void ColumnTileLoop::emitKernel(OpBuilder &builder, Value numBlocks,
                                function_ref<void(OpBuilder &, Value)> body) {
  bgpu::KernelOp::create(builder, loc, numBlocks, plan.getNumWarps() * kWarpThreads, body);
}

Value ColumnTileLoop::begin(OpBuilder &builder, Value written) {
  SmallVector<Value> all(loop.saved);
  llvm::append_range(all, loop.captures);
  all.push_back(written);
  kernelArrays = separateArrays(builder, loc, all);
  allocateShared(builder);
  readMatrices(builder);
  return kernelArrays.lookup(written);
}

void ColumnTileLoop::allocateShared(OpBuilder &builder) {
  for (Value value : plan.getShared()) {
    int64_t rows = ColumnTilePlan::getNumTiles(getNumRows(value)) * FragmentLayout::kRows;
    MemRefType type = bgpu::getSharedType({rows, getNumColumns()}, builder.getF32Type());
    arrays[value] = memref::AllocOp::create(builder, loc, type);
  }
}

ColumnTileLoop::Fragments ColumnTileLoop::run(OpBuilder &builder, const Run &run,
                                              ValueRange columns) {
  sources.begin(builder, kernelArrays, countSamples(builder, loop));
  return emitFold(builder, loc, run.first, run.last, columns,
                  [&](OpBuilder &nested, Value position, ValueRange before) {
                    Value step = getStep(nested, loop, position);
                    savedPlaces = sources.getPlaces(nested, step, run.sample);
                    return emitStep(nested, before);
                  });
}

SmallVector<Value> ColumnTileLoop::forEachThread(OpBuilder &builder, ValueRange tiles,
                                                 TypeRange elements, ThreadBody body) {
  SmallVector<int64_t> shape = {plan.getNumWarps(), FragmentLayout::kGroups,
                                FragmentLayout::kGroupThreads};
  auto emitBody = [&](OpBuilder &inThread, ValueRange at, ValueRange own) {
    warp = at[0];
    layout.emplace(loc, precision, at[1], at[2]);
    return body(inThread, own);
  };
  auto each = bgpu::ForEachOp::create(builder, loc, shape, tiles, elements, emitBody);
  return llvm::to_vector_of<Value>(each.getResults());
}

ColumnTileLoop::Fragments
ColumnTileLoop::makeColumns(OpBuilder &builder,
                            function_ref<Value(OpBuilder &, const Entry &)> value) {
  size_t count = 0;
  for (size_t state = 0; state < loop.getNumStates(); ++state)
    count += countFragments(loop.getStateSize(state));
  auto type = VectorType::get(FragmentLayout::kEntries, builder.getF32Type());
  SmallVector<Type> types(count, type);
  return forEachThread(builder, {}, types, [&](OpBuilder &inThread, ValueRange) {
    SmallVector<Value> entries;
    forEntries(inThread, [&](OpBuilder &, const Entry &entry, Value) {
      entries.push_back(value(inThread, entry));
    });
    return packScalars(inThread, loc, entries, FragmentLayout::kEntries);
  });
}

void ColumnTileLoop::forEachEntry(OpBuilder &builder, ValueRange columns, StoreEntry store) {
  forEachThread(builder, columns, {}, [&](OpBuilder &inThread, ValueRange own) {
    SmallVector<Value> entries = unpackScalars(inThread, loc, own);
    size_t number = 0;
    forEntries(inThread, [&](OpBuilder &, const Entry &entry, Value isOwned) {
      Value value = entries[number++];
      emitIf(inThread, loc, isOwned, [&](OpBuilder &inside) { store(inside, entry, value); });
    });
    return SmallVector<Value>();
  });
}

/// Visits the entries of all states. A thread owns an entry if its row exists.
void ColumnTileLoop::forEntries(OpBuilder &builder, VisitEntry visit) const {
  int64_t first = 0;
  for (size_t state = 0; state < loop.getNumStates(); ++state) {
    int64_t rows = loop.getStateSize(state);
    for (size_t i = 0; i < countEntries(rows); ++i) {
      Value row = getEntryRow(builder, i);
      visit(builder, {addIndex(builder, loc, row, first), getColumn(builder, i)},
            isBelow(builder, loc, row, getIndex(builder, loc, rows)));
    }
    first += rows;
  }
}

size_t ColumnTileLoop::countFragments(int64_t rows) const {
  return plan.getNumSlots(rows) * plan.getNumColumnTiles();
}

size_t ColumnTileLoop::countEntries(int64_t rows) const {
  return countFragments(rows) * FragmentLayout::kEntries;
}

int64_t ColumnTileLoop::getSlot(size_t entry) const {
  return entry / (plan.getNumColumnTiles() * FragmentLayout::kEntries);
}

/// The result may exceed the rows of a value.
Value ColumnTileLoop::getTileRow(OpBuilder &builder, int64_t slot, Value inTile) const {
  Value number = addIndex(builder, loc, warp, slot * plan.getNumWarps());
  Value first = mulIndex(builder, loc, number, getIndex(builder, loc, FragmentLayout::kRows));
  return addIndex(builder, loc, first, inTile);
}

Value ColumnTileLoop::getEntryRow(OpBuilder &builder, size_t entry) const {
  return getTileRow(builder, getSlot(entry),
                    layout->getRow(builder, entry % FragmentLayout::kEntries));
}

Value ColumnTileLoop::limitRow(OpBuilder &builder, Value row, int64_t rows) const {
  if (plan.getNumSlots(rows) * plan.getNumWarps() * FragmentLayout::kRows == rows)
    return row;
  return minIndex(builder, loc, row, getIndex(builder, loc, rows - 1));
}

Value ColumnTileLoop::getColumn(OpBuilder &builder, size_t entry) const {
  int64_t number = entry / FragmentLayout::kEntries % plan.getNumColumnTiles();
  Value inTile = layout->getColumn(builder, entry % FragmentLayout::kEntries);
  return addIndex(builder, loc, inTile, number * FragmentLayout::kColumns);
}

/// Swizzles columns so that four neighbouring rows are in different banks with two or four column
/// tiles.
SmallVector<Value> ColumnTileLoop::getSharedPlace(OpBuilder &builder, Value row,
                                                  Value column) const {
  int64_t numTiles = plan.getNumColumnTiles();
  if (numTiles % 2 != 0)
    return {row, column};
  auto constant = [&](int64_t value) { return getIndex(builder, loc, value); };
  Value group = row;
  if (numTiles == 2)
    group = arith::ShRUIOp::create(builder, loc, group, constant(1));
  group = arith::AndIOp::create(builder, loc, group, constant(numTiles - 1));
  Value moved = mulIndex(builder, loc, group, constant(FragmentLayout::kColumns));
  return {row, arith::XOrIOp::create(builder, loc, column, moved)};
}

/// Rows past the end are zero because matrix columns multiply them.
void ColumnTileLoop::share(OpBuilder &builder, Value value) {
  int64_t rows = getNumRows(value),
          stored = ColumnTilePlan::getNumTiles(rows) * FragmentLayout::kRows;
  auto storeEntry = [&](OpBuilder &inThread, size_t i, Value entry) {
    Value row = getEntryRow(inThread, i), column = getColumn(inThread, i);
    if (stored > rows) {
      Value zero = arith::ConstantOp::create(inThread, loc, inThread.getF32FloatAttr(0));
      Value exists = isBelow(inThread, loc, row, getIndex(inThread, loc, rows));
      entry = arith::SelectOp::create(inThread, loc, exists, entry, zero);
    }
    auto store = [&](OpBuilder &nested) {
      memref::StoreOp::create(nested, loc, entry, arrays[value],
                              getSharedPlace(nested, row, column));
    };
    if ((getSlot(i) + 1) * plan.getNumWarps() * FragmentLayout::kRows <= stored)
      store(inThread);
    else
      emitIf(inThread, loc, isBelow(inThread, loc, row, getIndex(inThread, loc, stored)), store);
  };
  forEachThread(builder, columnTiles[value], {}, [&](OpBuilder &inThread, ValueRange own) {
    for (auto [i, entry] : llvm::enumerate(unpackScalars(inThread, loc, own)))
      storeEntry(inThread, i, entry);
    return SmallVector<Value>();
  });
}

Value ColumnTileLoop::readElement(OpBuilder &builder, Value value, Value row, Value column) {
  if (!plan.isColumnTile(value))
    return recomputeRow(builder, value, row);
  return memref::LoadOp::create(builder, loc, arrays[value], getSharedPlace(builder, row, column));
}
