//===- TransitionLoops.cpp - loops that compute transitions ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "TransitionLoops.h"
#include "../../../Codegen/GPU/LinkSteps.h"

using namespace mlir;
using namespace bppsa;

void DeviceMaps::store(OpBuilder &builder, Location loc, Value value, Value sample, Value map,
                       Value column, Value row) const {
  if (byRows)
    std::swap(column, row);
  Place{memref, {map, sample, column}}.store(builder, loc, value, row);
}

template <typename LoopTy>
static LogicalResult keep(FailureOr<LoopTy> created, std::optional<LoopTy> &loop) {
  if (succeeded(created))
    loop = std::move(*created);
  return created;
}

FailureOr<TransitionLoops> TransitionLoops::create(const CotangentLoop &loop,
                                                   GPUMappingAttr mapping) {
  TransitionLoops loops(loop);
  LogicalResult made = success();
  if (mapping.is(GPUKernel::ThreadPerColumn))
    made = keep(ColumnLoop::create(loop, mapping), loops.byThreads);
  else if (mapping.is(GPUKernel::ColumnTile))
    made = keep(ColumnTileLoop::create(loop, mapping), loops.byColumnTiles);
  else
    made =
        keep(LinkLoop::create(loop, {/*inject=*/false, /*emit=*/false}, mapping), loops.byBlocks);
  if (succeeded(made) && mapping.getOffset())
    made = keep(LinkLoop::create(loop, {/*inject=*/true, /*emit=*/false}, mapping.getOffset()),
                loops.injected);
  if (failed(made))
    return failure();
  return loops;
}

void TransitionLoops::emitKernels(OpBuilder &builder, const DeviceMaps &maps, Value count,
                                  GetRun getRun) {
  Location loc = loop.op->getLoc();
  Type element = loop.getElementType();
  auto constant = [&](OpBuilder &b, double value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(element, value));
  };
  Runs runs = {maps, count, getRun};
  // A diagonal is the result for a column of ones.
  auto startMatrix = [&](OpBuilder &b, Value row, Value column) -> Value {
    Value one = constant(b, 1);
    if (maps.isDiagonal)
      return one;
    return arith::SelectOp::create(b, loc, isEqual(b, loc, row, column), one, constant(b, 0));
  };
  auto startOffset = [&](OpBuilder &b, Value, Value) { return constant(b, 0); };
  int64_t numColumns = maps.getNumMatrixColumns();
  if (byThreads)
    emitByThreads(builder, *byThreads, runs, {numColumns, 0, startMatrix});
  else if (byColumnTiles)
    emitByColumnTiles(builder, *byColumnTiles, runs, {numColumns, 0, startMatrix});
  else
    emitByBlocks(builder, *byBlocks, runs, {numColumns, 0, startMatrix});
  if (injected)
    emitByBlocks(builder, *injected, runs, {1, numColumns, startOffset});
}

Value TransitionLoops::countLoops(OpBuilder &builder, const Runs &runs, int64_t ofRun) const {
  Location loc = loop.op->getLoc();
  Value numRuns = mulIndex(builder, loc, countSamples(builder, loop), runs.count);
  return mulIndex(builder, loc, numRuns, getIndex(builder, loc, ofRun));
}

TransitionLoops::Loop TransitionLoops::getLoopAt(OpBuilder &builder, const Runs &runs,
                                                 int64_t ofRun, Value number) const {
  Location loc = loop.op->getLoc();
  Value loopsOfRun = getIndex(builder, loc, ofRun);
  SmallVector<Value> digits = splitIndex(builder, loc, number, {Value(), runs.count, loopsOfRun});
  return {digits[0], digits[1], digits[2]};
}

void TransitionLoops::emitByBlocks(OpBuilder &builder, LinkLoop &links, const Runs &runs,
                                   const Columns &columns) {
  Location loc = loop.op->getLoc();
  SmallVector<int64_t> firstOfState = {0};
  for (int64_t size : loop.stateSizes)
    firstOfState.push_back(firstOfState.back() + size);
  Value numBlocks = countLoops(builder, runs, columns.count);
  links.emitKernel(builder, numBlocks, [&](OpBuilder &nested, Value block) {
    links.begin(nested);
    Loop own = getLoopAt(nested, runs, columns.count, block);
    auto start = [&](OpBuilder &inThread, size_t state, Value row) {
      return columns.start(inThread, addIndex(inThread, loc, row, firstOfState[state]), own.column);
    };
    SmallVector<Value> units = links.makeCotangents(nested, start);
    Run run = runs.get(nested, own.run);
    SmallVector<Value> end = links.run(nested, {own.sample, run.first, run.last}, units);
    Value column = addIndex(nested, loc, own.column, columns.first);
    for (auto [state, rows] : llvm::enumerate(end))
      links.forEachRow(nested, rows,
                       [&, state = state](OpBuilder &inThread, Value row, Value value) {
                         runs.maps.store(inThread, loc, value, own.sample, run.map, column,
                                         addIndex(inThread, loc, row, firstOfState[state]));
                       });
  });
}

void TransitionLoops::emitByThreads(OpBuilder &builder, ColumnLoop &steps, const Runs &runs,
                                    const Columns &columns) {
  Location loc = loop.op->getLoc();
  Value numRuns = mulIndex(builder, loc, countSamples(builder, loop), runs.count);
  auto getLoop = [&](OpBuilder &inThread, Value number) {
    return getLoopAt(inThread, runs, columns.count, number);
  };
  auto at = [&](OpBuilder &inside, Value number) -> std::pair<Value, Value> {
    SmallVector<Value> digits = splitIndex(inside, loc, number, {Value(), runs.count});
    return {digits[0], runs.get(inside, digits[1]).first};
  };
  auto stepAt = [&](OpBuilder &inside, Value position) { return getStep(inside, loop, position); };
  auto emitBlock = [&](OpBuilder &nested, Value block) {
    DeviceMaps maps = runs.maps;
    maps.memref = steps.begin(nested, block, maps.memref);
    Value start = steps.makeRows(nested, [&](OpBuilder &inThread, Value number, Value row) {
      return columns.start(inThread, row, getLoop(inThread, number).column);
    });
    Run first = runs.get(nested, getIndex(nested, loc, 0));
    Value length = arith::SubIOp::create(nested, loc, first.last, first.first);
    Value end = steps.run(nested, {columns.count, numRuns, length, at, stepAt}, start);
    steps.forEachRow(nested, end, [&](OpBuilder &inThread, Value number) -> ColumnLoop::StoreRow {
      Loop own = getLoop(inThread, number);
      Value map = runs.get(inThread, own.run).map;
      return [&, own, map](OpBuilder &b, Value row, Value value) {
        maps.store(b, loc, value, own.sample, map, own.column, row);
      };
    });
  };
  steps.emitKernel(builder, countLoops(builder, runs, columns.count), emitBlock);
}

void TransitionLoops::emitByColumnTiles(OpBuilder &builder, ColumnTileLoop &steps, const Runs &runs,
                                        const Columns &columns) {
  Location loc = loop.op->getLoc();
  int64_t width = steps.getNumColumns(), numColumnTiles = llvm::divideCeil(columns.count, width);
  auto emitBlock = [&](OpBuilder &nested, Value block) {
    DeviceMaps maps = runs.maps;
    maps.memref = steps.begin(nested, maps.memref);
    Loop own = getLoopAt(nested, runs, numColumnTiles, block);
    Value first = mulIndex(nested, loc, own.column, getIndex(nested, loc, width));
    auto getColumn = [&](OpBuilder &inThread, const ColumnTileLoop::Entry &entry) {
      return addIndex(inThread, loc, first, entry.column);
    };
    SmallVector<Value> tile =
        steps.makeColumns(nested, [&](OpBuilder &inThread, const ColumnTileLoop::Entry &entry) {
          return columns.start(inThread, entry.row, getColumn(inThread, entry));
        });
    Run run = runs.get(nested, own.run);
    tile = steps.run(nested, {own.sample, run.first, run.last}, tile);
    auto storeEntry = [&](OpBuilder &inThread, const ColumnTileLoop::Entry &entry, Value value) {
      Value column = getColumn(inThread, entry);
      auto store = [&](OpBuilder &b) {
        maps.store(b, loc, value, own.sample, run.map, column, entry.row);
      };
      if (columns.count % width == 0)
        return store(inThread);
      Value count = getIndex(inThread, loc, columns.count);
      emitIf(inThread, loc, isBelow(inThread, loc, column, count), store);
    };
    steps.forEachEntry(nested, tile, storeEntry);
  };
  steps.emitKernel(builder, countLoops(builder, runs, numColumnTiles), emitBlock);
}
