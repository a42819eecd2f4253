//===- AffineMaps.cpp - maps g -> A g + s in device memory ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "AffineMaps.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace bppsa;

DeviceMaps DeviceMaps::allocate(OpBuilder &builder, const CotangentLoop &loop, Value count) {
  DeviceMaps maps = {AffineMapLayout::get(loop), Value()};
  Type element = cast<MemRefType>(loop.seeds[0].getType()).getElementType();
  auto type = MemRefType::get(
      {ShapedType::kDynamic, ShapedType::kDynamic, maps.getNumColumns(), maps.size}, element);
  maps.memref = memref::AllocOp::create(builder, loop.op->getLoc(), type,
                                        ValueRange{countSamples(builder, loop), count},
                                        builder.getI64IntegerAttr(64));
  return maps;
}

Place DeviceMaps::getOffset(OpBuilder &builder, Location loc, Value sample, Value map) const {
  return getColumn(sample, map, getIndex(builder, loc, getNumMatrixColumns()));
}

/// Makes `walk` one with `options`; fails after a diagnostic.
static LogicalResult createWalk(const CotangentLoop &loop, WalkOptions options, bool readAhead,
                                std::optional<BlockWalk> &walk) {
  FailureOr<BlockWalk> created = BlockWalk::create(loop, options, readAhead);
  if (succeeded(created))
    walk = std::move(*created);
  return created;
}

FailureOr<MapWalks> MapWalks::create(const CotangentLoop &loop, bool readAhead) {
  MapWalks walks(loop);
  walks.byThreads = ColumnWalk::create(loop);
  if (!walks.byThreads &&
      failed(createWalk(loop, {/*inject=*/false, /*emit=*/false}, readAhead, walks.byBlocks)))
    return failure();
  if (!loop.injected.empty() &&
      failed(createWalk(loop, {/*inject=*/true, /*emit=*/false}, readAhead, walks.injected)))
    return failure();
  return walks;
}

void MapWalks::launch(OpBuilder &builder, const DeviceMaps &maps, Value count, int64_t first,
                      Range range) {
  Location loc = loop.op->getLoc();
  Type element = cast<MemRefType>(loop.seeds[0].getType()).getElementType();
  auto constant = [&](OpBuilder &b, double value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(element, value));
  };
  Runs runs = {maps, count, first, range};
  // A diagonal is what the links make of a column of ones.
  auto startMatrix = [&](OpBuilder &b, Value row, Value column) -> Value {
    Value one = constant(b, 1);
    if (maps.isDiagonal)
      return one;
    return arith::SelectOp::create(b, loc, isEqual(b, loc, row, column), one, constant(b, 0));
  };
  auto startOffset = [&](OpBuilder &b, Value, Value) { return constant(b, 0); };
  int64_t numColumns = maps.getNumMatrixColumns();
  if (byThreads)
    launchThreads(builder, *byThreads, runs, {numColumns, 0, startMatrix});
  else
    launchBlocks(builder, *byBlocks, runs, {numColumns, 0, startMatrix});
  if (injected)
    launchBlocks(builder, *injected, runs, {1, numColumns, startOffset});
}

Value MapWalks::countWalks(OpBuilder &builder, const Runs &runs, const Columns &columns) const {
  Location loc = loop.op->getLoc();
  Value numRuns = mulIndex(builder, loc, countSamples(builder, loop), runs.count);
  return mulIndex(builder, loc, numRuns, getIndex(builder, loc, columns.count));
}

MapWalks::Walk MapWalks::getWalk(OpBuilder &builder, const Runs &runs, const Columns &columns,
                                 Value number) const {
  Location loc = loop.op->getLoc();
  Value numColumns = getIndex(builder, loc, columns.count);
  SmallVector<Value> digits = splitIndex(builder, loc, number, {Value(), runs.count, numColumns});
  return {digits[0], digits[1], digits[2]};
}

Place MapWalks::getDestination(OpBuilder &builder, const Runs &runs, const Columns &columns,
                               const Walk &walk) const {
  Location loc = loop.op->getLoc();
  return runs.maps.getColumn(walk.sample, addIndex(builder, loc, walk.run, runs.first),
                             addIndex(builder, loc, walk.column, columns.first));
}

/// A block for each sample, run and column.
void MapWalks::launchBlocks(OpBuilder &builder, BlockWalk &walk, const Runs &runs,
                            const Columns &columns) {
  Location loc = loop.op->getLoc();
  Value numBlocks = countWalks(builder, runs, columns);
  walk.launch(builder, numBlocks, [&](OpBuilder &nested, const LaunchedThread &thread) {
    Walk own = getWalk(nested, runs, columns, thread.block);
    walk.start(nested, thread, [&](OpBuilder &inside, Value row) {
      return columns.start(inside, row, own.column);
    });
    auto [from, to] = runs.range(nested, own.run);
    walk.walk(nested, own.sample, from, to);
    Place destination = getDestination(nested, runs, columns, own);
    walk.finish(nested, thread, [&](OpBuilder &inside, Value row, Value value) {
      destination.store(inside, loc, value, row);
    });
  });
}

/// A thread for each sample, run and column.
void MapWalks::launchThreads(OpBuilder &builder, ColumnWalk &walk, const Runs &runs,
                             const Columns &columns) {
  Location loc = loop.op->getLoc();
  Value numThreads = countWalks(builder, runs, columns);
  walk.launch(builder, numThreads, [&](OpBuilder &nested, Value number, Value exists) {
    Walk own = getWalk(nested, runs, columns, number);
    SmallVector<Value> start;
    for (int64_t row = 0; row < runs.maps.size; ++row)
      start.push_back(columns.start(nested, getIndex(nested, loc, row), own.column));
    auto [from, to] = runs.range(nested, own.run);
    SmallVector<Value> end = walk.walk(nested, own.sample, from, to, start);
    Place destination = getDestination(nested, runs, columns, own);
    emitIf(nested, loc, exists, [&](OpBuilder &inside) {
      for (auto [row, value] : llvm::enumerate(end))
        destination.store(inside, loc, value, getIndex(inside, loc, row));
    });
  });
}

Value bppsa::emitApply(OpBuilder &builder, Location loc, const DeviceMaps &maps, Value sample,
                       Value map, const Place &from, Value row) {
  Type element = cast<MemRefType>(maps.memref.getType()).getElementType();
  Value sum = maps.hasOffset
                  ? maps.getOffset(builder, loc, sample, map).load(builder, loc, row)
                  : arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  Value zero = getIndex(builder, loc, 0);
  auto accumulate = [&](OpBuilder &nested, Value column, Value factor, Value running) -> Value {
    Value entry = maps.getColumn(sample, map, column).load(nested, loc, row);
    return math::FmaOp::create(nested, loc, entry, factor, running);
  };
  if (maps.isDiagonal)
    return accumulate(builder, zero, from.load(builder, loc, row), sum);
  return emitFold(builder, loc, zero, getIndex(builder, loc, maps.size), sum,
                  [&](OpBuilder &nested, Value column, ValueRange running) {
                    Value factor = from.load(nested, loc, column);
                    return SmallVector<Value>{accumulate(nested, column, factor, running[0])};
                  })
      .front();
}
