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

FailureOr<MapWalks> MapWalks::create(const CotangentLoop &loop, bool readAhead) {
  FailureOr<BlockWalk> linear =
      BlockWalk::create(loop, {/*inject=*/false, /*emit=*/false}, readAhead);
  if (failed(linear))
    return failure();
  std::optional<BlockWalk> injected;
  if (!loop.injected.empty()) {
    FailureOr<BlockWalk> walk =
        BlockWalk::create(loop, {/*inject=*/true, /*emit=*/false}, readAhead);
    if (failed(walk))
      return failure();
    injected = std::move(*walk);
  }
  return MapWalks(loop, std::move(*linear), std::move(injected));
}

MapWalks::MapWalks(const CotangentLoop &loop, BlockWalk linear, std::optional<BlockWalk> injected)
    : loop(loop), linear(std::move(linear)), injected(std::move(injected)) {}

void MapWalks::launch(OpBuilder &builder, const DeviceMaps &maps, Value count, int64_t first,
                      Range range) {
  Location loc = loop.op->getLoc();
  Type element = cast<MemRefType>(loop.seeds[0].getType()).getElementType();
  auto constant = [&](OpBuilder &b, double value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(element, value));
  };
  /// Walks column `column` of each run from `start(row, column)`.
  auto launchColumns = [&](BlockWalk &walk, int64_t numColumns, int64_t firstColumn,
                           function_ref<Value(OpBuilder &, Value, Value)> start) {
    Value columns = getIndex(builder, loc, numColumns);
    Value numBlocks =
        mulIndex(builder, loc, mulIndex(builder, loc, countSamples(builder, loop), count), columns);
    walk.launch(builder, numBlocks, [&](OpBuilder &nested, const LaunchedThread &thread) {
      SmallVector<Value> digits = splitIndex(nested, loc, thread.block, {Value(), count, columns});
      walk.start(nested, thread,
                 [&](OpBuilder &inside, Value row) { return start(inside, row, digits[2]); });
      auto [from, to] = range(nested, digits[1]);
      walk.walk(nested, digits[0], from, to);
      Place column = maps.getColumn(digits[0], addIndex(nested, loc, digits[1], first),
                                    addIndex(nested, loc, digits[2], firstColumn));
      walk.finish(nested, thread, [&](OpBuilder &inside, Value row, Value value) {
        column.store(inside, loc, value, row);
      });
    });
  };
  // A diagonal is what the links make of a column of ones.
  launchColumns(linear, maps.getNumMatrixColumns(), 0, [&](OpBuilder &b, Value row, Value column) {
    Value one = constant(b, 1);
    if (maps.isDiagonal)
      return one;
    return arith::SelectOp::create(b, loc, isEqual(b, loc, row, column), one, constant(b, 0))
        .getResult();
  });
  if (injected)
    launchColumns(*injected, 1, maps.getNumMatrixColumns(),
                  [&](OpBuilder &b, Value, Value) { return constant(b, 0); });
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
