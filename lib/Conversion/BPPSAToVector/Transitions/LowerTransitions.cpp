//===- LowerTransitions.cpp - affine transitions of cotangents ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "AffineMaps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

static AffineMapRows getTransition(Value array, Value block, bool isDiagonal) {
  ArrayRef<int64_t> shape = cast<MemRefType>(array.getType()).getShape();
  bool hasOffset = shape[1] > (isDiagonal ? 1 : shape[2]);
  return {{shape[2], hasOffset, isDiagonal}, array, {block}};
}

/// If lanes hold units, there are few samples, so columns are parallel.
static void emitColumnsInParallel(OpBuilder &builder, TransitionOp op, AffineMapBuilder &run,
                                  Value numBlocks) {
  constexpr int64_t kMaxColumns = 8;
  Location loc = op.getLoc();
  auto getMap = [&](Value block) {
    return getTransition(op.getDestination(), block, op.getDiagonal());
  };
  int64_t together = std::min(kMaxColumns, AffineMapBuilder::getColumnsTogether(getMap(Value())));
  int64_t numColumns = getMap(Value()).getNumMatrixColumns();
  Value numGroups = getIndex(builder, loc, llvm::divideCeil(numColumns, together));
  emitParallel(
      builder, loc, numBlocks, numGroups, [&](OpBuilder &nested, Value block, Value group) {
        run.allocateScratch(nested);
        Value first = arith::MulIOp::create(nested, loc, group, getIndex(nested, loc, together));
        Value last = arith::MinUIOp::create(nested, loc, addIndex(nested, loc, first, together),
                                            getIndex(nested, loc, numColumns));
        run.emitColumns(nested, block, getMap(block), first, last);
      });
}

LogicalResult bppsa::lowerTransition(TransitionOp op, const LaneOptions &options) {
  CotangentLoop loop = getCotangentLoop(op);
  FailureOr<AffineMapBuilder> run = AffineMapBuilder::create(loop, options);
  if (failed(run))
    return failure();
  Location loc = op.getLoc();
  OpBuilder builder(op);
  Value numBlocks = getDim(builder, loc, op.getDestination(), 0);
  if (options.lanes == 1 && op.getInjected().empty()) {
    emitColumnsInParallel(builder, op, *run, numBlocks);
    return success();
  }
  emitParallel(builder, loc, numBlocks, [&](OpBuilder &nested, Value block) {
    run->allocateScratch(nested);
    run->emit(nested, block, getTransition(op.getDestination(), block, op.getDiagonal()));
  });
  return success();
}

void bppsa::lowerComposeTransitions(ComposeTransitionsOp op, const LaneOptions &options) {
  Location loc = op.getLoc();
  OpBuilder builder(op);
  Value destination = op.getDestination();
  auto get = [&](Value array, Value block) {
    return getTransition(array, block, op.getDiagonal());
  };
  emitParallel(
      builder, loc, getDim(builder, loc, destination, 0), [&](OpBuilder &nested, Value block) {
        AffineMapRows product = get(destination, block);
        VectorType rowType = product.getColumn(block).getRowType();
        Rows scratch = allocateRows(nested, loc, getComposeScratchRows(product.size), rowType);
        if (op.getSecond() != destination)
          emitCopy(nested, loc, get(op.getSecond(), block), product);
        emitCompose(nested, loc, get(op.getFirst(), block), product, scratch, options);
      });
}

/// Neighbouring rows share a vector.
static void emitApplyOverUnits(OpBuilder &builder, Location loc, const AffineMapRows &map,
                               const Rows &from, const Rows &to) {
  emitTiles(builder, loc, to, 0, map.size, [&](OpBuilder &inTile, const Tile &tile) {
    auto type = VectorType::get(tile.width, getElementTypeOrSelf(to.memref));
    Value zero = getIndex(inTile, loc, 0);
    Value sum = map.hasOffset
                    ? map.getOffset(inTile, loc).load(inTile, loc, tile)
                    : arith::ConstantOp::create(inTile, loc, inTile.getZeroAttr(type)).getResult();
    if (map.isDiagonal) {
      Value scaled = vector::FMAOp::create(inTile, loc, map.getColumn(zero).load(inTile, loc, tile),
                                           from.load(inTile, loc, tile), sum);
      return to.store(inTile, loc, scaled, tile.first);
    }
    auto loop = scf::ForOp::create(
        inTile, loc, zero, getIndex(inTile, loc, map.size), getIndex(inTile, loc, 1), sum,
        [&](OpBuilder &nested, Location, Value column, ValueRange carried) {
          Value factor =
              vector::BroadcastOp::create(nested, loc, type, from.loadEntry(nested, loc, column));
          Value entries = map.getColumn(column).load(nested, loc, tile);
          Value next = vector::FMAOp::create(nested, loc, entries, factor, carried.front());
          scf::YieldOp::create(nested, loc, next);
        });
    to.store(inTile, loc, loop.getResult(0), tile.first);
  });
}

void bppsa::lowerApplyTransition(ApplyTransitionOp op, const LaneOptions &options) {
  Location loc = op.getLoc();
  OpBuilder builder(op);
  emitParallel(builder, loc, getDim(builder, loc, op.getDestination(), 0),
               [&](OpBuilder &nested, Value block) {
                 AffineMapRows map = getTransition(op.getTransition(), block, op.getDiagonal());
                 Rows from = {op.getCotangent(), {block}}, to = {op.getDestination(), {block}};
                 if (options.lanes == 1)
                   emitApplyOverUnits(nested, loc, map, from, to);
                 else
                   emitApply(nested, loc, map, from, to, options);
               });
}
